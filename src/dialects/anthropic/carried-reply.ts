/** Messages of a vendor, for clients of the same API. */
import { editJsonText } from "../../protocol/json/json-edit.ts"
import { type MakeRules, replyEdits } from "../carry/carried-reply.ts"
import type { ReplyContext } from "../client/client-api.ts"
import { messageId } from "./client-reply.ts"

const namesOf = (context: ReplyContext) => ({ id: messageId(context), model: context.model })

export const carriedMessage = (context: ReplyContext, json: string): string =>
  editJsonText(json, replyEdits(namesOf(context)))

/** Events that begin or end a message; the others are its blocks. */
const ofMessage: ReadonlySet<string> = new Set(["message_start", "message_delta", "message_stop"])

export const messageRules: MakeRules = (context) => ({
  isPlain: (name) => name !== undefined && !ofMessage.has(name),
  edit: (event) => {
    if (event["type"] === "message_start") return { edits: replyEdits(namesOf(context), "message") }
    const isDelta = event["type"] === "message_delta"
    return { edits: [], isHeld: isDelta || event["type"] === "message_stop", tellsCharge: isDelta }
  },
})
