/** `/openai/v1/responses/{id}`: kept responses, their items, and their erasure. */
import { Effect, Schema, SchemaTransformation, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Gate } from "../../../admission/gate.ts"
import { plainRequest } from "../../../admission/rates/caller-limits.ts"
import { WeirConfig } from "../../../config.ts"
import { chatApi } from "../../../dialects/openai-chat/client.ts"
import { conversationItem, outputItems, withItemId } from "../../../dialects/openai-responses/items.ts"
import { parseObject } from "../../../dialects/parse/json.ts"
import type { Caller } from "../../../identity/caller.ts"
import { BackgroundResponses } from "../../../kept-responses/background-responses.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { type KeptResponse, KeptResponses } from "../../../kept-responses/kept-responses.ts"
import { serviceError } from "../../../protocol/error.ts"
import { cut, editJsonText } from "../../../protocol/json/json-edit.ts"
import { type Authenticated, fromRouter, makeForCaller } from "../../caller-request.ts"
import { makeRevocation } from "../../revocation.ts"
import { makeAnswerIn } from "../reply.ts"
import { makeEarlierItems } from "./earlier-items.ts"
import { decodeQuery, ListQuery, listReply, unknownAfter } from "./list-query.ts"
import { resumedEvents } from "./resumed-stream.ts"

/** `include` and `include_obfuscation` change nothing here. */
const ReadQuery = Schema.Struct({
  stream: Schema.optionalKey(
    Schema.Literals(["true", "false"]).pipe(
      Schema.decodeTo(
        Schema.Boolean,
        SchemaTransformation.transform({
          decode: (text) => text === "true",
          encode: (is) => (is ? ("true" as const) : ("false" as const)),
        }),
      ),
    ),
  ),
  starting_after: Schema.optionalKey(
    Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  ),
})

export const responseRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const kept = yield* KeptResponses
    const gate = yield* Gate
    const background = yield* BackgroundResponses
    const { bodyMaxBytes, streamHeartbeatMs } = yield* WeirConfig
    const answerIn = yield* makeAnswerIn
    const earlierItems = yield* makeEarlierItems
    const { again } = yield* makeForCaller
    const { streamWhileValid } = yield* makeRevocation

    const find = Effect.fnUntraced(function* (caller: Caller, id: string) {
      const response = yield* kept.find(caller.org, ownerOf(caller), id)
      return response === undefined || response.api !== undefined ? yield* responseNotFound(id) : response
    })

    /** The id of a response, which for an exchange of twp/1 is that of its call. */
    const idIn = ({ caller }: Authenticated, named: string) =>
      isRequestId(named) ? Effect.map(kept.idOf(caller.org, named), (id) => id ?? named) : Effect.succeed(named)

    /** The reply of a kept exchange of twp/1, by the request id of its call. */
    const exchangeOf = Effect.fnUntraced(function* (call: Authenticated, requestId: string) {
      const { caller } = call
      const exchange = yield* kept.find(caller.org, ownerOf(caller), yield* idIn(call, requestId))
      if (exchange?.api !== "twp/1") return yield* responseNotFound(requestId)
      // The balance of that time is not kept.
      const reply = editJsonText(exchange.response, [cut("usage", "balance")])
      return HttpServerResponse.text(reply, { contentType: "application/json" })
    })

    const retrieve = Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      const { response } = yield* find(caller, id)
      return HttpServerResponse.text(response, { contentType: "application/json" })
    })

    /** The response, or with `stream=true` its events. */
    const read = Effect.fnUntraced(function* (call: Authenticated, id: string) {
      const { stream, starting_after: after = -1 } = yield* decodeQuery(ReadQuery, call)
      if (isRequestId(id)) return yield* exchangeOf(call, id)
      if (stream !== true) return yield* retrieve(call, id)
      const { caller, request } = call
      yield* find(caller, id)
      const events = resumedEvents({ kept, background }, caller.org, ownerOf(caller), id, after, streamHeartbeatMs)
      const bytes = Stream.encodeText(Stream.orDie(streamWhileValid(() => again(request), events)))
      return HttpServerResponse.stream(bytes, {
        contentType: "text/event-stream",
        headers: { "cache-control": "no-store" },
      })
    })

    const cancel = Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      const running = yield* kept.running(caller.org, ownerOf(caller), id)
      const { isBackground, input, response } = running ?? (yield* find(caller, id))
      if (!isBackground) return yield* notCancellable
      const cancelled = yield* background.cancel(caller.org.id, id, { input, response })
      const now = cancelled ?? (yield* find(caller, id))
      return HttpServerResponse.text(now.response, { contentType: "application/json" })
    })

    const remove = Effect.fnUntraced(function* (call: Authenticated, named: string) {
      const { caller } = call
      const id = yield* idIn(call, named)
      const isRemoved = yield* kept.remove(caller.org, ownerOf(caller), id)
      if (isRemoved) background.running(caller.org.id, id)?.stop()
      return isRemoved
        ? HttpServerResponse.jsonUnsafe({ id: named, object: "response", deleted: true })
        : yield* responseNotFound(named)
    })

    /** The items from which a response was made: also those that it continues, as far as these are there. */
    const itemsBefore = Effect.fnUntraced(function* (caller: Caller, id: string) {
      const own = yield* find(caller, id)
      const thread = yield* kept.thread(caller.org, ownerOf(caller), id, bodyMaxBytes)
      const before = thread._tag === "Found" ? thread.responses.slice(0, -1) : []
      const inputOf = (response: KeptResponse) => response.input.map((text, at) => withItemId(text, response.id, at))
      const outputOf = ({ response }: KeptResponse) => outputItems(response).map((text) => parseObject(text) ?? {})
      const [first = own] = before
      const earlier = (yield* earlierItems(caller.org, ownerOf(caller), first)) ?? []
      return [
        ...earlier.map((item) => conversationItem(item.id, item.text)),
        ...before.flatMap((response) => [...inputOf(response), ...outputOf(response)]),
        ...inputOf(own),
      ]
    })

    const listInput = Effect.fnUntraced(function* (call: Authenticated, id: string) {
      const { limit, after, order } = yield* decodeQuery(ListQuery, call)
      yield* gate.admit(plainRequest(call.caller))
      const items = yield* itemsBefore(call.caller, id)
      if (order === "desc") items.reverse()
      const from = after === undefined ? 0 : items.findIndex((item) => item["id"] === after) + 1
      if (after !== undefined && from === 0) {
        return yield* unknownAfter
      }
      return listReply(items.slice(from, from + limit), from + limit < items.length)
    })

    type Answer = typeof listInput | typeof read | typeof remove | typeof cancel
    const add = (method: "GET" | "DELETE" | "POST", path: `/${string}`, answer: Answer) =>
      router.add(method, path, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
          answerIn(chatApi, fromRouter(request), (call) => answer(call, id)),
        ),
      )

    yield* add("GET", "/openai/v1/responses/:id", read)
    yield* add("DELETE", "/openai/v1/responses/:id", remove)
    yield* add("POST", "/openai/v1/responses/:id/cancel", cancel)
    yield* add("GET", "/openai/v1/responses/:id/input_items", listInput)
  }),
)

const isRequestId = (id: string): boolean => /^req_[\w-]{16}$/.test(id)

/** Source: the error of OpenAI's API. */
const notCancellable = serviceError("bad_request", "Cannot cancel a synchronous response.")

const responseNotFound = (id: string) => serviceError("not_found", `Response with id '${id.slice(0, 128)}' not found.`)
