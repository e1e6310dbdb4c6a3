/** Cached content for clients of Gemini's API: the routes beside its creation, and requests that name it. */
import { Clock, Effect, Result, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { cacheOf, decodeCacheUpdate } from "../../dialects/gemini/cache-client.ts"
import { generateApi } from "../../dialects/gemini/client.ts"
import { isObject } from "../../dialects/parse/json.ts"
import type { Caller } from "../../identity/caller.ts"
import { Caches, cachedContentOf } from "../../jobs/caches.ts"
import type { PinnedTarget } from "../../kinds/chat/chat-request.ts"
import { partsInclude } from "../../media/parts-include.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { parseBody } from "../../protocol/json/json-body.ts"
import { editJson, set } from "../../protocol/json/json-edit.ts"
import { type Authenticated, fromRouter } from "../caller-request.ts"
import { geminiVersions } from "./model-path.ts"
import { makeAnswerIn } from "./reply.ts"
import { decodeQuery } from "./responses/list-query.ts"

const mostListed = 100

const ListQuery = Schema.Struct({
  pageSize: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: mostListed })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(String(mostListed))),
  ),
  pageToken: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))),
})

const maxUpdateBytes = 4 * 1024

export const cacheRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const caches = yield* Caches
    const answerIn = yield* makeAnswerIn
    const clock = yield* Clock.Clock

    const list = Effect.fnUntraced(function* (call: Authenticated) {
      const { pageSize, pageToken } = yield* decodeQuery(ListQuery, call)
      const { jobs, next } = yield* caches.list(call.caller, { after: pageToken, most: pageSize })
      return HttpServerResponse.jsonUnsafe({
        cachedContents: jobs.map((job) => cacheOf(cachedContentOf(job))),
        ...(next !== undefined && { nextPageToken: next }),
      })
    })
    const read = Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      return HttpServerResponse.jsonUnsafe(cacheOf(cachedContentOf(yield* caches.find(caller, id))))
    })
    const update = Effect.fnUntraced(function* ({ caller, body }: Authenticated, id: string) {
      const job = yield* caches.find(caller, id)
      const json = yield* Effect.fromResult(parseBody(body))
      const asked = decodeCacheUpdate(isObject(json) ? json : {}, clock.currentTimeMillisUnsafe())
      if (Result.isFailure(asked)) return yield* invalidInput([asked.failure])
      yield* caches.shorten(job, asked.success)
      return HttpServerResponse.jsonUnsafe(cacheOf(cachedContentOf(yield* caches.find(caller, id))))
    })
    const remove = Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      yield* caches.remove(yield* caches.find(caller, id))
      return HttpServerResponse.jsonUnsafe({})
    })

    for (const version of geminiVersions) {
      const path = `/gemini/${version}/cachedContents` as const
      yield* router.add("GET", path, (request) => answerIn(generateApi, fromRouter(request), list))
      for (const [method, answer] of [
        ["GET", read],
        ["PATCH", update],
        ["DELETE", remove],
      ] as const)
        yield* router.add(method, `${path}/:id`, (request) =>
          Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
            answerIn(generateApi, fromRouter(request), (call) => answer(call, id), maxUpdateBytes),
          ),
        )
    }
  }),
)

/** Whether a request may name cached content. */
export const namesCache = (api: { readonly name: string }, parts: ReadonlyArray<Uint8Array>): boolean =>
  api.name === generateApi.name && partsInclude(parts, ['"cachedContent"'])

/** A body with the vendor's own name of its cached content, and the target that has it. */
export const makeNamedCaches = Effect.map(Caches, (caches) =>
  Effect.fnUntraced(function* (caller: Caller, body: Uint8Array) {
    const parsed = parseBody(body)
    const json = Result.isSuccess(parsed) ? parsed.success : undefined
    const named = isObject(json) ? json["cachedContent"] : undefined
    // Other names are those of content that the operator keeps at a vendor.
    const [, id] = (typeof named === "string" && /^cachedContents\/(job_[\w-]{1,64})$/.exec(named)) || []
    if (id === undefined) return { body, pinned: undefined }
    const { vendor, targetModel, isOwn, vendorJob } = yield* caches.find(caller, id)
    const pinned: PinnedTarget = { vendor, targetModel, isOwn }
    return { body: editJson(body, [set(vendorJob, "cachedContent")]), pinned }
  }),
)
