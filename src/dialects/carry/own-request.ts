/** The facts of a request that is carried to a vendor of the same API, as the reader of its API found them. */

import type { FieldReader } from "../client/fields.ts"
import { pathOf } from "../parse/exact-places.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import type { HostedTools } from "../vendor/hosted-tools.ts"
import type { OwnRequest } from "./carried-request.ts"

/** @param tools the tools that its vendor defines, and the number of all tools @param places positions by a name of the API's */
export const ownRequest = (
  { lack, newFields, newBytes, foreign }: FieldReader,
  endUsers: OwnRequest["endUsers"],
  tools: { readonly hosted: HostedTools; readonly listed: unknown },
  places?: Readonly<Record<string, ReadonlyArray<string>>>,
): OwnRequest => ({
  lack,
  newFields,
  newBytes,
  foreign: foreign.map(pathOf),
  endUsers,
  hosted: tools.hosted.tools,
  tools: Array.isArray(tools.listed) ? tools.listed.length : Number(isObject(tools.listed)),
  ...(places !== undefined && {
    places: Object.fromEntries(Object.entries(places).map(([name, paths]) => [name, paths.map(pathOf)])),
  }),
})

/** The ids of the client's own user. */
export const endUsersAt = (body: JsonObject, ...paths: ReadonlyArray<ReadonlyArray<string>>): OwnRequest["endUsers"] =>
  paths.flatMap((path) => {
    const id = path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), body)
    return typeof id === "string" && id !== "" ? [{ path, id }] : []
  })
