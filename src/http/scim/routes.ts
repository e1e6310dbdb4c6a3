/** The SCIM routes, `/scim/v2`, with which an organisation's directory provisions people and groups. RFC 7644. */
import { Effect, type Schema } from "effect"
import { HttpRouter, type HttpServerResponse } from "effect/http"
import { Gate } from "../../admission/gate.ts"
import { WeirConfig } from "../../config.ts"
import { type ScimCaller, ScimTokens } from "../../identity/scim/scim-tokens.ts"
import type { ScimFailure } from "../../identity/scim/scim-writes.ts"
import { resourceTypes, schemas, serviceProviderConfig } from "../../protocol/scim/discovery.ts"
import { ScimProblem } from "../../protocol/scim/problem.ts"
import { isStorable } from "../../protocol/values/text.ts"
import { originOf, type Request } from "../request.ts"
import { makeCollections } from "./collections.ts"
import { listResponse } from "./listing.ts"
import { answer, jsonReply } from "./reply.ts"
import { create, list, read, remove, replace, search, searchAll, update } from "./resources.ts"

/** The requests of a directory; Entra ID asks for at least 25 a second. */
const rate = { bucket: "scim", limit: 3000, windowMs: 60_000 }

/** A request of an organisation's directory. */
interface Call {
  readonly request: Request
  readonly caller: ScimCaller
  /** The address of these routes. */
  readonly base: string
  /** The last part of the path, of routes that have one. */
  readonly id: string
}

export const scimRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const config = yield* WeirConfig
    const gate = yield* Gate
    const tokens = yield* ScimTokens
    const collections = yield* makeCollections

    const identify = Effect.fnUntraced(function* (request: Request) {
      const caller = yield* tokens.authenticate(request.headers["authorization"])
      yield* gate.admit({ owner: caller.orgId, keyId: "scim", rates: [rate] })
      const { id = "" } = yield* HttpRouter.params
      if (!isStorable(id)) return yield* unknownRoute
      return { request, caller, base: `${originOf(config, request)}/scim/v2`, id }
    })

    const add = (
      method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "*",
      path: `/${string}`,
      handle: (call: Call) => Effect.Effect<HttpServerResponse.HttpServerResponse, ScimFailure>,
    ) => router.add(method, path, (request) => answer(Effect.flatMap(identify(request), handle)))

    for (const endpoint of ["/Users", "/Groups"] as const) {
      const path = `/scim/v2${endpoint}` as const
      const of = ({ caller, base }: Call) => collections[endpoint](caller, base)
      yield* add("GET", path, (call) => list(call.request, of(call)))
      yield* add("POST", path, (call) => create(call.request, of(call)))
      yield* add("POST", `${path}/.search`, (call) => search(call.request, of(call)))
      yield* add("GET", `${path}/:id`, (call) => read(call.request, of(call), call.id))
      yield* add("PUT", `${path}/:id`, (call) => replace(call.request, of(call), call.id))
      yield* add("PATCH", `${path}/:id`, (call) => update(call.request, of(call), call.id))
      yield* add("DELETE", `${path}/:id`, (call) => remove(call.request, of(call), call.id))
    }

    yield* add("GET", "/scim/v2/ServiceProviderConfig", ({ base }) =>
      Effect.succeed(jsonReply(serviceProviderConfig(base))),
    )
    yield* add("GET", "/scim/v2/ResourceTypes", (call) => describeAll(call, resourceTypes))
    yield* add("GET", "/scim/v2/ResourceTypes/:id", (call) => describeOne(call, resourceTypes))
    yield* add("GET", "/scim/v2/Schemas", (call) => describeAll(call, schemas))
    yield* add("GET", "/scim/v2/Schemas/:id", (call) => describeOne(call, schemas))
    yield* add("POST", "/scim/v2/.search", ({ request, caller, base }) =>
      searchAll(request, [collections["/Users"](caller, base), collections["/Groups"](caller, base)]),
    )
    for (const [path, supported] of supportedMethods) {
      for (const method of methods) {
        if (!supported.includes(method)) yield* add(method, path, () => Effect.fail(wrongMethod))
      }
    }
    yield* add("*", "/scim/v2/Me", () => Effect.fail(notImplemented("/Me")))
    yield* add("*", "/scim/v2/Bulk", () => Effect.fail(notImplemented("/Bulk")))
    yield* add("*", "/scim/v2/*", () => Effect.fail(unknownRoute))
  }),
)

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const
type Method = (typeof methods)[number]

/** The methods of each path; others are answered with 405. */
const supportedMethods: ReadonlyArray<readonly [path: `/${string}`, methods: ReadonlyArray<Method>]> = [
  ["/scim/v2/.search", ["POST"]],
  ["/scim/v2/Users", ["GET", "POST"]],
  ["/scim/v2/Users/.search", ["POST"]],
  ["/scim/v2/Users/:id", ["GET", "PUT", "PATCH", "DELETE"]],
  ["/scim/v2/Groups", ["GET", "POST"]],
  ["/scim/v2/Groups/.search", ["POST"]],
  ["/scim/v2/Groups/:id", ["GET", "PUT", "PATCH", "DELETE"]],
  ["/scim/v2/ServiceProviderConfig", ["GET"]],
  ["/scim/v2/ResourceTypes", ["GET"]],
  ["/scim/v2/ResourceTypes/:id", ["GET"]],
  ["/scim/v2/Schemas", ["GET"]],
  ["/scim/v2/Schemas/:id", ["GET"]],
]

type Descriptions = (base: string) => ReadonlyArray<Schema.JsonObject & { readonly id: string }>

/** Filters are refused, so that nobody takes a whole list for its selection. RFC 7644 section 4. */
const describeAll = ({ request, base }: Call, descriptions: Descriptions) => {
  if (/[?&]filter=/u.test(request.url)) {
    return Effect.fail(new ScimProblem({ status: 403, detail: "This list cannot be filtered" }))
  }
  const found = descriptions(base)
  return Effect.succeed(jsonReply(listResponse(found.length, 1, found)))
}

const describeOne = ({ base, id }: Call, descriptions: Descriptions) => {
  const found = descriptions(base).find((each) => each.id === id)
  return found === undefined ? Effect.fail(unknownRoute) : Effect.succeed(jsonReply(found))
}

const notImplemented = (what: string) => new ScimProblem({ status: 501, detail: `${what} is not supported` })
const wrongMethod = new ScimProblem({ status: 405, detail: "The route does not have this method" })
const unknownRoute = new ScimProblem({ status: 404, detail: "The route does not exist" })
