/** Messages of a vendor, for clients of the same API. */
import type { JsonEdit, JsonPath } from "../../protocol/json-edit.ts"
import { accountEdits, carriedWhole, type MakeRules, nameEdits, partOf } from "../carried-reply.ts"
import type { ReplyContext } from "../client-api.ts"
import type { JsonObject } from "../json.ts"
import { messageId } from "./client-reply.ts"

const editsOf = (context: ReplyContext, message: JsonObject, ...path: JsonPath): Array<JsonEdit> => [
  ...nameEdits({ id: messageId(context), model: context.model }, ...path),
  ...accountEdits(message, ...path),
]

export const carriedMessage = (context: ReplyContext, json: string): string =>
  carriedWhole(json, (message) => editsOf(context, message))

/** Events that begin or end a message; the others are its blocks. */
const ofMessage: ReadonlySet<string> = new Set(["message_start", "message_delta", "message_stop"])

export const messageRules: MakeRules = (context) => ({
  isPlain: (name) => name !== undefined && !ofMessage.has(name),
  edit: (event) => {
    if (event["type"] === "message_start") {
      return { edits: editsOf(context, partOf(event, "message"), "message") }
    }
    const isDelta = event["type"] === "message_delta"
    return { edits: [], isHeld: isDelta || event["type"] === "message_stop", tellsCharge: isDelta }
  },
})
