/** Requests for the resources of one kind. RFC 7644 section 3. */
import { Effect, type Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { absent, type Change, type ScimFailure, unwrap, versionIn } from "../../identity/scim/scim-writes.ts"
import { parseBody } from "../../protocol/json/json-body.ts"
import { applyPatch } from "../../protocol/scim/patch.ts"
import { project, readProjection } from "../../protocol/scim/projection.ts"
import { isList, isObject, type ResourceKind } from "../../protocol/scim/schema.ts"
import { readResource } from "../../protocol/scim/values.ts"
import { type Request, readContent } from "../request.ts"
import type { Resources } from "./collections.ts"
import { listResponse, readListQuery } from "./listing.ts"
import { hasVersion, ifMatchOf } from "./preconditions.ts"
import { jsonReply } from "./reply.ts"

const maxBodyBytes = 1024 * 1024

type Reply = Effect.Effect<HttpServerResponse.HttpServerResponse, ScimFailure>

export const list = (request: Request, { kind, list }: Resources): Reply => {
  const { attributes, excludedAttributes, ...rest } = queryOf(request)
  const sent = {
    ...rest,
    ...(attributes !== undefined && { attributes: attributes.split(",") }),
    ...(excludedAttributes !== undefined && { excludedAttributes: excludedAttributes.split(",") }),
  }
  return Effect.map(listed(kind, list, sent), (found) => jsonReply(found))
}

const listed = (kind: ResourceKind, list: Resources["list"], sent: unknown) =>
  Effect.flatMap(readListQuery(kind, sent), (query) =>
    Effect.map(list(query), ({ total, resources }) => listResponse(total, query.startIndex, resources)),
  )

export const search = (request: Request, { kind, list }: Resources): Reply =>
  Effect.flatMap(bodyOf(request), (body) => Effect.map(listed(kind, list, body), (found) => jsonReply(found)))

/** A search over all kinds, in their order. RFC 7644 section 3.4.3. */
export const searchAll = (request: Request, all: ReadonlyArray<Resources>): Reply =>
  Effect.gen(function* () {
    const body = yield* bodyOf(request)
    const shown: Array<Schema.JsonObject> = []
    let total = 0
    let first = 1
    for (const { kind, list } of all) {
      const query = yield* readListQuery(kind, body)
      first = query.startIndex
      const found = yield* list({
        ...query,
        startIndex: Math.max(1, query.startIndex - total),
        count: query.count - shown.length,
      })
      shown.push(...found.resources)
      total += found.total
    }
    return jsonReply(listResponse(total, first, shown))
  })

export const create = (request: Request, { kind, create }: Resources): Reply =>
  Effect.gen(function* () {
    const made = yield* create(yield* unwrap(readResource(kind, yield* bodyOf(request))))
    return shown(request, { kind }, made, 201)
  })

export const read = (request: Request, { kind, find }: Resources, id: string): Reply =>
  Effect.gen(function* () {
    const found = (yield* find(id)) ?? (yield* absent("resource"))
    const version = versionIn(found)
    return hasVersion(request, version)
      ? HttpServerResponse.empty({ status: 304, headers: { etag: version } })
      : shown(request, { kind }, found)
  })

export const replace = (request: Request, resources: Resources, id: string): Reply =>
  change(request, resources, id, (body) => () => readResource(resources.kind, body))

export const update = (request: Request, resources: Resources, id: string): Reply =>
  change(request, resources, id, (body) => (attributes) => applyPatch(resources.kind, attributes, body))

const change = (
  request: Request,
  { kind, change }: Resources,
  id: string,
  changeBy: (body: Schema.Json) => Change,
): Reply =>
  Effect.gen(function* () {
    const by = changeBy(yield* bodyOf(request))
    const changed = yield* change(id, ifMatchOf(request), by)
    // Nobody reads the members of a large group that has one more.
    return isLong(changed["members"])
      ? HttpServerResponse.empty({ status: 204, headers: { etag: versionIn(changed) } })
      : shown(request, { kind }, changed)
  })

const mostShown = 1000
const isLong = (members: Schema.Json | undefined) => isList(members) && members.length > mostShown

export const remove = (request: Request, { remove }: Resources, id: string): Reply =>
  Effect.as(remove(id, ifMatchOf(request)), HttpServerResponse.empty({ status: 204 }))

/** A resource with the attributes that the client asks for. */
const shown = (request: Request, { kind }: Pick<Resources, "kind">, resource: Schema.JsonObject, status = 200) => {
  const { attributes, excludedAttributes } = queryOf(request)
  const projection = readProjection(kind, attributes?.split(","), excludedAttributes?.split(","))
  const meta = resource["meta"]
  const location = isObject(meta) ? String(meta["location"]) : ""
  return jsonReply(project(resource, projection), status, { etag: versionIn(resource), location })
}

const bodyOf = (request: Request): Effect.Effect<Schema.Json, ScimFailure> =>
  Effect.flatMap(readContent(request, maxBodyBytes), (body) => Effect.fromResult(parseBody(body)))

/** The parameters of a query; their names are compared without case. */
const queryOf = ({ url }: Request): Partial<Record<Parameter, string>> => {
  const at = url.indexOf("?")
  const sent = new URLSearchParams(at === -1 ? "" : url.slice(at + 1))
  const found: Partial<Record<Parameter, string>> = {}
  for (const [name, value] of sent) {
    const known = parameters.find((parameter) => parameter.toLowerCase() === name.toLowerCase())
    if (known !== undefined) found[known] = value
  }
  return found
}
const parameters = ["filter", "startIndex", "count", "attributes", "excludedAttributes"] as const
type Parameter = (typeof parameters)[number]
