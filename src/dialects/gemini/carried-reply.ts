/** Replies of generateContent from a vendor, for clients of the same API. */
import { editJsonText } from "../../protocol/json/json-edit.ts"
import { type MakeRules, replyEdits } from "../carry/carried-reply.ts"
import { type ReplyContext, replyId } from "../client/client-api.ts"
import { objectAt, objectsAt, stringAt } from "../parse/json.ts"
import { writeReply } from "./client-reply.ts"

const namesOf = (context: ReplyContext) => ({ responseId: replyId(context), modelVersion: context.model })

export const carriedContent = (context: ReplyContext, json: string): string =>
  editJsonText(json, replyEdits(namesOf(context)))

export const contentRules: MakeRules = (context) => {
  const edits = replyEdits(namesOf(context))
  let hasEnded = false
  return {
    edit: (reply) => {
      hasEnded ||=
        objectsAt(reply, "candidates").some(({ finishReason }) => typeof finishReason === "string") ||
        stringAt(objectAt(reply, "promptFeedback"), "blockReason") !== undefined
      return { edits, isHeld: hasEnded, tellsCharge: hasEnded }
    },
    write: ({ json }, isFirst) => writeReply(json, context.isArray === true, isFirst),
    ...(context.isArray === true && { last: "]" }),
  }
}
