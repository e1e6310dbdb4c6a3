/** `keep` and `after` of twp/1: an exchange that is kept, and one that goes on from it. */
import { Clock, Effect, Result } from "effect"
import type { DecodedCall } from "../../calls/held-call.ts"
import { withKeep } from "../../calls/held-call.ts"
import { WeirConfig } from "../../config.ts"
import { isObject } from "../../dialects/parse/json.ts"
import type { Caller } from "../../identity/caller.ts"
import { ownerOf } from "../../kept-responses/kept-response.ts"
import { KeptResponses } from "../../kept-responses/kept-responses.ts"
import type { ChatReply } from "../../kinds/chat/chat-reply.ts"
import type { ChatRequest } from "../../kinds/chat/chat-request.ts"
import { messagesFrom } from "../../kinds/chat/thread-texts.ts"
import { partsInclude } from "../../media/parts-include.ts"
import { bodyTooLarge, serviceError } from "../../protocol/error.ts"
import { type Decoded, parseBody } from "../../protocol/json/json-body.ts"
import { cut, editJson, type JsonPath } from "../../protocol/json/json-edit.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"
import { Sealing } from "../../store/seal.ts"
import { keepExchange, keptFor } from "../compatible/responses/keeping.ts"
import { isLarge } from "../large/large-requests.ts"
import type { NodeConnection } from "../node-connection.ts"
import type { RouteError } from "../respond.ts"

const mark = '"after"'

interface Place {
  /** The path of the exchange in a body. */
  readonly path: JsonPath
  /** The largest body of an exchange with the thread that it goes on from. */
  readonly mostBytes: number
}

/** @param place of exchanges in their bodies; a body is one, if it is absent */
export const makeKeptExchanges = Effect.fnUntraced(function* (place?: Place) {
  const kept = yield* KeptResponses
  const { sealer } = yield* Sealing
  const { bodyMaxBytes } = yield* WeirConfig
  const { path, mostBytes } = place ?? { path: [], mostBytes: bodyMaxBytes }
  const clock = yield* Clock.Clock

  /** The messages of a kept exchange and of those that it went on from. */
  const threadOf = Effect.fnUntraced(function* (caller: Caller, after: string) {
    const { org } = caller
    const id = yield* kept.idOf(org, after)
    const thread = id === undefined ? undefined : yield* kept.thread(org, ownerOf(caller), id, mostBytes)
    if (thread?._tag === "TooLong") return yield* bodyTooLarge(mostBytes)
    const responses = thread?._tag === "Found" ? thread.responses : []
    if (id === undefined || responses.length === 0 || responses.some(({ api }) => api !== "twp/1")) {
      return yield* serviceError(
        "not_found",
        `There is no kept exchange ${after}: the x-svc-request-id of a reply is meant, whose request had keep`,
        { detail: { after } },
      )
    }
    return { id, messages: responses.flatMap(({ input, response }) => [...input, replyOf(response)]) }
  })

  /** The steps of one exchange. */
  return (requestId: string, connection: Pick<NodeConnection<ChatReply>, "notice">) => {
    let previous: string | undefined
    let from = 0
    return {
      /** The exchange with the thread that it goes on from. */
      continued: (
        caller: Caller,
        parts: ReadonlyArray<Uint8Array>,
      ): Effect.Effect<Uint8Array, RouteError> | undefined => {
        // A large body is not read here where nothing is kept.
        if (!partsInclude(parts, [mark]) || (isLarge(parts) && caller.org.keeps?.responses === undefined))
          return undefined
        const [body = Buffer.concat(parts)] = parts.length === 1 ? parts : []
        return Effect.gen(function* () {
          const parsed = parseBody(body)
          const after = Result.isSuccess(parsed) ? valueAt(parsed.success, [...path, "after"]) : undefined
          // Another value is refused with the rest of the request.
          if (typeof after !== "string" || !/^req_[\w-]{16}$/.test(after)) return body
          const { id, messages } = yield* threadOf(caller, after)
          previous = id
          from = messages.length
          const thread = `[${[...messages, ...messagesFrom(body, 0, path)].join(",")}]`
          const whole = editJson(body, [cut(...path, "after"), { path: [...path, "thread"], json: thread }])
          return whole.length > mostBytes ? yield* bodyTooLarge(mostBytes) : whole
        })
      },

      from: () => from,

      /** @param input the messages of the exchange itself */
      keeping: (
        caller: Caller,
        decoded: Decoded<DecodedCall<ChatRequest>>,
        input: () => ReadonlyArray<string>,
      ): Result.Result<DecodedCall<ChatRequest, ChatReply>, Result.Result.Failure<typeof decoded>> => {
        if (Result.isFailure(decoded) || decoded.success.request.keep !== true) return decoded
        const ms = keptFor(caller)
        if (ms === undefined) {
          connection.notice("not_kept")
          return decoded
        }
        const call = { requestId, nowMs: clock.currentTimeMillisUnsafe(), after: previous, ms }
        return withKeep(decoded, keepExchange(sealer, caller, call, input()))
      },
    }
  }
})

/** The message that a kept reply is in the thread. */
const replyOf = (response: string): string =>
  `{"role":"assistant","blocks":${new JsonSource(response).textAt(["blocks"]) ?? "[]"}}`

/** A member of nested objects; undefined if it is not there. */
const valueAt = (json: unknown, path: JsonPath): unknown =>
  path.reduce<unknown>((found, name) => (isObject(found) ? found[name] : undefined), json)
