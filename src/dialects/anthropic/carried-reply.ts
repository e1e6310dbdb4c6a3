/** Messages of a vendor, for clients of the same API. */
import { editJsonText, type JsonEdit, type JsonPath } from "../../protocol/json-edit.ts"
import { accountEdits, type MakeRules, nameEdits } from "../carried-reply.ts"
import type { ReplyContext } from "../client-api.ts"
import { messageId } from "./client-reply.ts"

const editsOf = (context: ReplyContext, ...path: JsonPath): Array<JsonEdit> => [
  ...nameEdits({ id: messageId(context), model: context.model }, ...path),
  ...accountEdits(...path),
]

export const carriedMessage = (context: ReplyContext, json: string): string => editJsonText(json, editsOf(context))

/** Events that begin or end a message; the others are its blocks. */
const ofMessage: ReadonlySet<string> = new Set(["message_start", "message_delta", "message_stop"])

export const messageRules: MakeRules = (context) => ({
  isPlain: (name) => name !== undefined && !ofMessage.has(name),
  edit: (event) => {
    if (event["type"] === "message_start") {
      return { edits: editsOf(context, "message") }
    }
    const isDelta = event["type"] === "message_delta"
    return { edits: [], isHeld: isDelta || event["type"] === "message_stop", tellsCharge: isDelta }
  },
})
