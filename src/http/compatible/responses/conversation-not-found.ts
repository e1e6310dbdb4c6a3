/** The error for a conversation that is not there, or is another caller's. */
import { serviceError } from "../../../protocol/error.ts"

/** Source: the error of OpenAI's API. */
export const conversationNotFound = (id: string) =>
  serviceError("not_found", `Conversation with id '${id.slice(0, 128)}' not found.`)
