/** The items before a kept response: those of the conversation that it continued, up to its own. */
import { Effect } from "effect"
import { WeirConfig } from "../../../config.ts"
import { namedItems, responseOfItem } from "../../../dialects/openai-responses/items.ts"
import { objectAt, parseObject } from "../../../dialects/parse/json.ts"
import type { ConversationItem } from "../../../kept-responses/conversation.ts"
import { Conversations } from "../../../kept-responses/conversations.ts"
import type { KeptOwner } from "../../../kept-responses/kept-response.ts"
import type { KeptResponse } from "../../../kept-responses/kept-responses.ts"
import type { Org } from "../../../protocol/catalogue/tenant.ts"
import { bodyTooLarge, type ServiceError } from "../../../protocol/error.ts"
import type { StoreUnavailable } from "../../../store/unavailable.ts"

export const makeEarlierItems = Effect.gen(function* () {
  const conversations = yield* Conversations
  const { bodyMaxBytes } = yield* WeirConfig

  return Effect.fnUntraced(function* (
    org: Org,
    owner: KeptOwner,
    { id, input, response }: KeptResponse,
  ): Effect.fn.Return<ReadonlyArray<ConversationItem>, ServiceError | StoreUnavailable> {
    const conversationId = objectAt(parseObject(response), "conversation")?.["id"]
    if (typeof conversationId !== "string") return []
    if ((yield* conversations.find(org, owner, conversationId)) === undefined) return []
    const items = yield* conversations.all(org, conversationId, bodyMaxBytes)
    if (items === undefined) return yield* bodyTooLarge(bodyMaxBytes)
    const own = namedItems(id, input, response).map((item) => item.id)
    // Ids that others made may be in the conversation twice.
    const first = own.findIndex((itemId) => responseOfItem(itemId) === id)
    const at = Math.max(first, 0)
    const place = items.findIndex((item) => item.id === own[at]) - at
    return items.slice(0, Math.max(place, 0))
  })
})
