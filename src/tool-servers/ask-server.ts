/** Asks a server of tools one message outside any call: for its lists, its version and its sessions. */
import { Data, Effect } from "effect"
import { authorize } from "../calls/vendor/credential.ts"
import type { CallTarget, ToolServerEntry } from "../catalogue/snapshot.ts"
import type { Deadlines } from "../deadlines.ts"
import {
  isRequest,
  isResponse,
  type JsonObject,
  type MessageId,
  type ResponseMessage,
} from "../protocol/mcp/message.ts"
import type { UpstreamBroken, UpstreamCall, UpstreamHead, VendorClient } from "../upstream/client.ts"
import { MessageReader } from "./message-reader.ts"
import { OwnAnswers } from "./own-answers.ts"
import { type Outgoing, requestTo } from "./server-request.ts"
import { isStateless, type ServerSession } from "./server-session.ts"

/** A server that did not answer with a message. */
export class ServerFailed extends Data.TaggedError("ServerFailed")<{
  readonly reason: "unreachable" | "refused" | "malformed" | "slow" | "account"
  /** The status of its reply; 0 if there is none. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly cause?: unknown
  /** The account that is missing. */
  readonly needed?: NeededAccount
}> {}

/** An account without which a server is not asked. */
export interface NeededAccount {
  readonly server: string
  readonly message: string
  /** The path of the gateway's page that makes the account; absent if the caller cannot make it. */
  readonly path?: string
}

export interface Answer extends UpstreamHead {
  readonly message: ResponseMessage
}

export interface AskServices {
  readonly client: VendorClient["Service"]
  readonly deadlines: Deadlines
  /** The time that an answer may take, and its most bytes. */
  readonly timeoutMs: number
  readonly maxBytes: number
}

export interface Addressed {
  readonly entry: ToolServerEntry
  readonly target: CallTarget
  /** Headers that carry the caller's own account at the server. */
  readonly account: Readonly<Record<string, string>>
}

const noHead: UpstreamHead = { status: 0, headers: {} }

/** Sends a message. @param id of the request; undefined for a notification, which has no answer */
export const sendTo = (
  services: AskServices,
  { entry, target, account }: Addressed,
  session: Pick<ServerSession, "version" | "sessionId"> | undefined,
  outgoing: Outgoing,
  id: MessageId | undefined,
): Effect.Effect<Answer | UpstreamHead, ServerFailed> => {
  const { baseUrl } = target.vendor
  const request = requestTo(baseUrl, { ...entry.headers, ...account }, session, outgoing)
  const authorized = Effect.mapError(
    authorize(services.client, target, request),
    (cause) => new ServerFailed({ reason: "refused", ...noHead, status: 401, cause }),
  )
  return Effect.flatMap(authorized, (authorization) =>
    Effect.callback<Answer | UpstreamHead, ServerFailed>((resume) => {
      const { client, deadlines, timeoutMs, maxBytes } = services
      let call: UpstreamCall | undefined
      let head = noHead
      let reader: MessageReader | undefined
      let isOver = false
      const end = (result: Effect.Effect<Answer | UpstreamHead, ServerFailed>, isWhole = false) => {
        if (isOver) return
        isOver = true
        deadlines.remove(watch)
        if (isWhole) call?.leave()
        else call?.abort()
        resume(result)
      }
      const fail = (reason: ServerFailed["reason"], cause?: unknown) =>
        end(Effect.fail(new ServerFailed({ reason, ...head, cause })))
      const watch = deadlines.after(timeoutMs, () => fail("slow"))
      const answers = ownAnswersAt(services, { entry, target, account }, session)
      const take = (message: ResponseMessage) => {
        const isError = "error" in message
        if (message.id === id || (isError && (message.id ?? null) === null)) {
          end(Effect.succeed({ ...head, message }))
        }
      }
      call = client.start(
        { ...request, baseUrl, headers: { ...request.headers, ...authorization }, network: target.network },
        {
          connected: () => {},
          head: (found) => {
            head = found
            if (id === undefined) {
              const isTaken = head.status >= 200 && head.status < 300
              if (isTaken) end(Effect.succeed(head), true)
              else fail("refused")
              return
            }
            reader = new MessageReader(head.headers["content-type"] ?? "", maxBytes, ({ message }) => {
              if (isResponse(message)) take(message)
              else if (isRequest(message)) answers?.answer(message)
            })
          },
          bytes: (bytes) => {
            reader?.push(bytes)
            if (reader?.isMalformed === true) fail(head.status < 400 ? "malformed" : "refused")
          },
          ended: () => {
            reader?.end()
            if (!isOver) fail(head.status >= 200 && head.status < 300 ? "malformed" : "refused")
          },
          broken: (error: UpstreamBroken) => fail("unreachable", error.cause),
        },
      )
      if (isOver) call.abort()
      return Effect.sync(() => {
        if (!isOver) call?.abort()
        isOver = true
        deadlines.remove(watch)
      })
    }),
  )
}

/** Answers to the requests of a server. @returns undefined without a session, where a server has none */
export const ownAnswersAt = (
  services: AskServices,
  at: Addressed,
  session: Pick<ServerSession, "version" | "sessionId"> | undefined,
): OwnAnswers | undefined =>
  session === undefined || isStateless(session)
    ? undefined
    : new OwnAnswers((text) => sendTo(services, at, session, { method: "", text }, undefined))

/** Asks, and returns the answer. @param params without the members that the server's version needs */
export const ask = (
  services: AskServices,
  at: Addressed,
  session: Pick<ServerSession, "version" | "sessionId"> | undefined,
  { method, name, params }: { readonly method: string; readonly name?: string; readonly params: JsonObject },
  id: MessageId,
): Effect.Effect<Answer, ServerFailed> => {
  const text = JSON.stringify({ jsonrpc: "2.0", id, method, params })
  return Effect.flatMap(sendTo(services, at, session, { method, name, text }, id), (answer) =>
    "message" in answer ? Effect.succeed(answer) : Effect.fail(new ServerFailed({ reason: "malformed", ...answer })),
  )
}
