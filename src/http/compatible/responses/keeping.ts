/** Keeps the replies of OpenAI's Responses for their callers. */
import type { KeepReply } from "../../../calls/held-call.ts"
import type { KeptNames, ReplyContext } from "../../../dialects/client/client-api.ts"
import { carriedResponse } from "../../../dialects/openai-responses/carried-reply.ts"
import { isItemId, namedItems, outputIds, responseOfItem } from "../../../dialects/openai-responses/items.ts"
import { wholeResponse } from "../../../dialects/openai-responses/response-object.ts"
import { parseObject, stringAt } from "../../../dialects/parse/json.ts"
import type { Caller } from "../../../identity/caller.ts"
import { appendedItems } from "../../../kept-responses/conversation.ts"
import {
  type Keeping,
  type KeptContent,
  type KeptRequest,
  ownerOf,
  sealHash,
  sealRequest,
  sealResponse,
} from "../../../kept-responses/kept-response.ts"
import { dayOfResponse, keptResponseId } from "../../../kept-responses/response-id.ts"
import type { ChatReply } from "../../../kinds/chat/chat-reply.ts"
import { keptResponsesMs } from "../../../protocol/catalogue/tenant.ts"
import { JsonSource } from "../../../protocol/json/json-source.ts"
import { writeJson } from "../../../protocol/json/json-text.ts"
import { dateOf } from "../../../protocol/values/instant.ts"
import type { Sealer } from "../../../store/seal.ts"
import type { ContinuedRequest } from "./thread.ts"

/** The most items of a reply that can be referenced. */
const mostItems = 1000

/** The time for which responses of a caller are kept, in milliseconds; undefined if none is kept. */
export const keptFor = ({ org }: Caller): number | undefined => keptResponsesMs(org)

/** The names of a response that will be kept. @param thread the request, which may continue others */
export const keptNames = (
  { requestId, createdS }: ReplyContext,
  thread: Pick<ContinuedRequest, "previous" | "conversation" | "background"> | undefined,
): KeptNames => ({
  id: keptResponseId(requestId, createdS * 1000),
  previous: thread?.previous,
  isBackground: thread?.background !== undefined,
  conversation: thread?.conversation,
})

export interface KeptContext extends ReplyContext {
  readonly kept: KeptNames
}

/** The names of an exchange of twp/1 that is kept. @param after the exchange that it goes on from */
export const keepExchange =
  (
    sealer: Sealer,
    caller: Caller,
    call: {
      readonly requestId: string
      readonly nowMs: number
      readonly after: string | undefined
      readonly ms: number
    },
    input: ReadonlyArray<string>,
  ): KeepReply<ChatReply> =>
  (reply) => {
    const { requestId, nowMs, after, ms } = call
    const context = { requestId, model: reply.model, createdS: Math.floor(nowMs / 1000), includesUsage: true }
    const facts = factsOf(caller, { ...context, kept: keptNames(context, { previous: after }) }, ms)
    const content = { api: "twp/1", input, response: writeJson(reply) } as const
    return sealResponse(sealer, { ...facts, state: "completed", items: [] }, content)
  }

/** The facts of a response that is kept. @param ms the time for which it is kept */
const factsOf = (caller: Caller, context: KeptContext, ms: number): Omit<Keeping, "state" | "items"> => {
  const { id, previous } = context.kept
  const createdMs = context.createdS * 1000
  return {
    orgId: caller.org.id,
    id,
    day: dayOfResponse(id) ?? dateOf(createdMs),
    previous,
    ...ownerOf(caller),
    model: context.model,
    eraseAt: createdMs + ms,
    ...(context.kept.isBackground && { background: true }),
  }
}

/** The request id that a caller gave to a call, and the hash of its payload. */
export interface Asked {
  readonly requestId: string
  readonly payloadHash: string
}

interface BegunWith {
  readonly ms: number
  readonly asked: Asked | undefined
  /** The request, for another node, if this one dies; undefined if it cannot be repeated. */
  readonly request: KeptRequest | undefined
}

/** The facts of a response that begins. */
export const beginResponse = (
  sealer: Sealer,
  caller: Caller,
  context: KeptContext,
  content: KeptContent,
  { ms, asked, request }: BegunWith,
) => {
  const { id } = context.kept
  const again = request && { key: caller.keyId, sealed: sealRequest(sealer, caller.org.id, id, request) }
  const facts = { ...factsOf(caller, context, ms), state: "completed", items: [], again } as const
  if (asked === undefined) return sealResponse(sealer, facts, content)
  const hash = sealHash(sealer, caller.org.id, facts.id, asked.payloadHash)
  return sealResponse(sealer, { ...facts, asked: { key: caller.keyId, request: asked.requestId, hash } }, content)
}

/**
 * @param context of the reply, with its names
 * @param input the items of the request, with marks in place of values that are masked
 */
export const keepResponse =
  (
    sealer: Sealer,
    caller: Caller,
    context: KeptContext,
    input: ReadonlyArray<string>,
    ms: number,
  ): KeepReply<ChatReply> =>
  (reply) => {
    const { id, conversation } = context.kept
    const response = responseText(context, reply)
    const json = parseObject(response) ?? {}
    const appended =
      conversation === undefined
        ? undefined
        : appendedItems(sealer, caller.org.id, conversation, namedItems(id, input, response))
    return sealResponse(
      sealer,
      {
        ...factsOf(caller, context, ms),
        state: stringAt(json, "status") === "incomplete" ? "incomplete" : "completed",
        // A vendor's id that is no plain name could not be stored, nor referenced.
        items: outputIds(json)
          .filter((itemId) => responseOfItem(itemId) !== id && isItemId(itemId))
          .slice(0, mostItems),
        ...(appended !== undefined && { conversation: appended }),
      },
      { input, response },
    )
  }

/** The reply as its client gets it: JSON. */
export const responseText = (context: ReplyContext, reply: ChatReply): string => {
  const { carried } = reply
  if (carried === undefined) return writeJson(wholeResponse(context, reply))
  // A stream's last frame has the response.
  return carriedResponse(context, new JsonSource(carried).textAt(["response"]) ?? carried)
}
