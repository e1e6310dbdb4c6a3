/** Replies of generateContent from a vendor, for clients of the same API. */
import { editJsonText, type JsonEdit } from "../../protocol/json-edit.ts"
import { accountEdits, type MakeRules, nameEdits, partOf } from "../carried-reply.ts"
import { type ReplyContext, replyId } from "../client-api.ts"
import { objectsAt } from "../json.ts"
import { writeReply } from "./client-reply.ts"

const editsOf = (context: ReplyContext): Array<JsonEdit> => [
  ...nameEdits({ responseId: replyId(context), modelVersion: context.model }),
  ...accountEdits(),
]

export const carriedContent = (context: ReplyContext, json: string): string => editJsonText(json, editsOf(context))

export const contentRules: MakeRules = (context) => {
  let hasEnded = false
  return {
    edit: (reply) => {
      hasEnded ||=
        objectsAt(reply, "candidates").some(({ finishReason }) => typeof finishReason === "string") ||
        typeof partOf(reply, "promptFeedback")["blockReason"] === "string"
      return { edits: editsOf(context), isHeld: hasEnded, tellsCharge: hasEnded }
    },
    write: ({ json }, isFirst) => writeReply(json, context.isArray === true, isFirst),
    ...(context.isArray === true && { last: "]" }),
  }
}
