/** Messages of a server before its result, and the end of a call that nobody waits for. */
import { Effect } from "effect"
import type { Asked } from "../../calls/kind.ts"
import { cut, editJsonText } from "../../protocol/json/json-edit.ts"
import { isNotification, isRequest, type NotificationMessage, type RequestMessage } from "../../protocol/mcp/message.ts"
import { type Addressed, type AskServices, sendTo } from "../../tool-servers/ask-server.ts"
import type { ReadMessage } from "../../tool-servers/message-reader.ts"
import type { OwnAnswers } from "../../tool-servers/own-answers.ts"
import { isStateless, type ServerSession } from "../../tool-servers/server-session.ts"
import { progressFor, progressTokenOf, withId } from "./tool-message.ts"
import type { ToolReply, ToolRequest } from "./tool-request.ts"

/** The place that a call was sent to. */
export interface SentTo {
  readonly at: Addressed
  readonly session: ServerSession
  /** Undefined without a session. */
  readonly answers: OwnAnswers | undefined
}

export class BetweenMessages {
  readonly #asking: AskServices
  readonly #call: Asked<ToolRequest, ToolReply>
  readonly #isReviewed: boolean
  /** Whether policies review arguments: the client's answers to requests are no less. */
  readonly #reviewsAnswers: boolean

  constructor(asking: AskServices, call: Asked<ToolRequest, ToolReply>) {
    this.#asking = asking
    this.#call = call
    const { inbound, outbound } = call.caller.policies
    this.#isReviewed = outbound.length > 0
    this.#reviewsAnswers = inbound.length > 0
  }

  /**
   * Gives the client what belongs to its call. Where policies review results, texts of a server come in its result only: of progress,
   * the client gets the numbers.
   */
  take({ message, text }: ReadMessage, place: SentTo): void {
    if (isRequest(message)) this.#request(message, text, place)
    else if (isNotification(message)) this.#notification(message, text)
  }

  /** Notifies a server with sessions that nobody waits any longer; without sessions, the end of the connection says it. */
  cancel(place: SentTo): void {
    if (isStateless(place.session)) return
    const { requestId, services } = this.#call
    const params = { requestId, reason: "The client has left" }
    const text = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })
    const sent = sendTo(this.#asking, place.at, place.session, { method: "", text }, undefined)
    Effect.runForkWith(services.context)(Effect.ignore(sent))
  }

  /** A server that asks waits for an answer: the client's, or the gateway's if the client does not get the request. */
  #request(message: RequestMessage, text: string, place: SentTo): void {
    if (isStateless(place.session)) return
    const { client } = this.#call.request
    const isPassed = message.method !== "ping" && !this.#isReviewed && !this.#reviewsAnswers
    const id = isPassed ? client.requestIdFor?.(place.session.sessionId, message.id) : undefined
    if (id !== undefined) {
      client.notify(withId(text, id))
      return
    }
    place.answers?.answer(message)
  }

  #notification({ method, params: given }: NotificationMessage, text: string): void {
    const { requestId, request } = this.#call
    const { client, params } = request
    if (method === "notifications/message" && !this.#isReviewed) client.notify(text)
    const token = progressTokenOf(params)
    if (method !== "notifications/progress" || token === undefined || given?.["progressToken"] !== requestId) return
    client.notify(progressFor(this.#isReviewed ? editJsonText(text, [cut("params", "message")]) : text, token))
  }
}
