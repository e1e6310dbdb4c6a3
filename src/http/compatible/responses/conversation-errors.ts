/** Errors of requests about conversations. */
import { mostConversationItems } from "../../../kept-responses/conversation-items.ts"
import { serviceError } from "../../../protocol/error.ts"

/** A conversation that is not there, or is another caller's. Source: the error of OpenAI's API. */
export const conversationNotFound = (id: string) =>
  serviceError("not_found", `Conversation with id '${id.slice(0, 128)}' not found.`)

export const conversationFull = serviceError(
  "bad_request",
  `A conversation has at most ${mostConversationItems} items, and the bytes of one request: remove items, or begin another one`,
)

export const tooManyConversations = serviceError(
  "bad_request",
  "There are as many conversations as the caller, or its organisation, may have (SVC_CONVERSATIONS, SVC_ORG_CONVERSATIONS): delete some",
)
