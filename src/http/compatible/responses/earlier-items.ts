/** The items before a kept response: those of the conversation that it continued, up to its own. */
import { Effect } from "effect"
import { WeirConfig } from "../../../config.ts"
import { objectAt, parseObject } from "../../../dialects/parse/json.ts"
import type { ConversationItem } from "../../../kept-responses/conversation.ts"
import { ConversationItems } from "../../../kept-responses/conversation-items.ts"
import { Conversations } from "../../../kept-responses/conversations.ts"
import type { KeptOwner } from "../../../kept-responses/kept-response.ts"
import type { KeptResponse } from "../../../kept-responses/kept-responses.ts"
import type { Org } from "../../../protocol/catalogue/tenant.ts"
import { bodyTooLarge, type ServiceError } from "../../../protocol/error.ts"
import type { StoreUnavailable } from "../../../store/unavailable.ts"

export const makeEarlierItems = Effect.gen(function* () {
  const conversations = yield* Conversations
  const conversationItems = yield* ConversationItems
  const { bodyMaxBytes } = yield* WeirConfig

  /** @returns undefined if its conversation is not there any more */
  return Effect.fnUntraced(function* (
    org: Org,
    owner: KeptOwner,
    { response, conversationPlace }: KeptResponse,
  ): Effect.fn.Return<ReadonlyArray<ConversationItem> | undefined, ServiceError | StoreUnavailable> {
    const conversationId = objectAt(parseObject(response), "conversation")?.["id"]
    if (typeof conversationId !== "string") return []
    if (conversationPlace === undefined) return undefined
    if ((yield* conversations.find(org, owner, conversationId)) === undefined) return undefined
    const items = yield* conversationItems.all(org, conversationId, bodyMaxBytes, conversationPlace)
    return items ?? (yield* bodyTooLarge(bodyMaxBytes))
  })
})
