/** Messages of a server before its result, and the end of a call that nobody waits for. */
import { Effect } from "effect"
import type { Asked } from "../../calls/kind.ts"
import { cut, editJsonText } from "../../protocol/json/json-edit.ts"
import { isNotification, isRequest } from "../../protocol/mcp/message.ts"
import { type Addressed, type AskServices, sendTo } from "../../tool-servers/ask-server.ts"
import type { ReadMessage } from "../../tool-servers/message-reader.ts"
import { isStateless, type ServerSession } from "../../tool-servers/server-session.ts"
import { progressFor, progressTokenOf, withId } from "./tool-message.ts"
import type { ToolReply, ToolRequest } from "./tool-request.ts"

type Call = Asked<ToolRequest, ToolReply>

/**
 * Gives the client what belongs to its call. Where policies review results, texts of a server come in its result only: of progress, the
 * client gets the numbers.
 */
export const passOn = (
  { message, text }: ReadMessage,
  { call, session }: { readonly call: Call; readonly session: ServerSession | undefined },
): void => {
  const { client, params } = call.request
  const isReviewed = call.caller.policies.outbound.length > 0
  if (isRequest(message)) {
    const id = isReviewed ? undefined : client.requestIdFor?.(session?.sessionId, message.id)
    if (id !== undefined && session !== undefined && !isStateless(session)) client.notify(withId(text, id))
    return
  }
  if (!isNotification(message)) return
  const token = progressTokenOf(params)
  if (message.method === "notifications/message" && !isReviewed) client.notify(text)
  if (message.method !== "notifications/progress" || token === undefined) return
  if (message.params?.["progressToken"] !== call.requestId) return
  client.notify(progressFor(isReviewed ? editJsonText(text, [cut("params", "message")]) : text, token))
}

/** Notifies a server with sessions that nobody waits any longer; without sessions, the end of the connection says it. */
export const cancelAt = (asking: AskServices, at: Addressed, session: ServerSession, call: Call): void => {
  if (isStateless(session)) return
  const { requestId, services } = call
  const method = "notifications/cancelled"
  const text = JSON.stringify({ jsonrpc: "2.0", method, params: { requestId, reason: "The client has left" } })
  Effect.runForkWith(services.context)(Effect.ignore(sendTo(asking, at, session, { method, text }, undefined)))
}
