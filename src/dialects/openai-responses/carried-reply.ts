/** Responses of a vendor, for clients of the same API. */
import type { JsonEdit, JsonPath } from "../../protocol/json-edit.ts"
import { accountEdits, carriedWhole, type MakeRules, nameEdits } from "../carried-reply.ts"
import type { ReplyContext } from "../client-api.ts"
import { isObject, type JsonObject } from "../json.ts"
import { responseId } from "./client-reply.ts"

const editsOf = (context: ReplyContext, response: JsonObject, ...path: JsonPath): Array<JsonEdit> => [
  ...nameEdits({ id: responseId(context), model: context.model }, ...path),
  ...accountEdits(response, ...path),
]

export const carriedResponse = (context: ReplyContext, json: string): string =>
  carriedWhole(json, (response) => editsOf(context, response))

/** Events with the whole response in them. */
const ofResponse: ReadonlySet<string> = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
  "response.completed",
  "response.incomplete",
])

export const responseRules: MakeRules = (context) => ({
  isPlain: (name) => name !== undefined && !ofResponse.has(name),
  edit: (event) => {
    const isEnd = event["type"] === "response.completed" || event["type"] === "response.incomplete"
    const { response } = event
    const edits = isObject(response) ? editsOf(context, response, "response") : []
    return { edits, isHeld: isEnd, tellsCharge: isEnd }
  },
})
