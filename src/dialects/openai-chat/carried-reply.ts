/** Chat completions of a vendor, for clients of the same API. */

import { cut, editJsonText } from "../../protocol/json/json-edit.ts"
import type { Usage } from "../../protocol/usage.ts"
import { type FrameEdits, type MakeRules, replyEdits } from "../carry/carried-reply.ts"
import type { ReplyContext } from "../client/client-api.ts"
import { isObject, objectsAt } from "../parse/json.ts"
import { completionId, usageChunk } from "./client-reply.ts"

const namesOf = (context: ReplyContext) => ({ id: completionId(context), model: context.model })

export const carriedCompletion = (context: ReplyContext, json: string): string =>
  editJsonText(json, replyEdits(namesOf(context)))

/**
 * The end of a choice, and the usage, come after the settlement. The usage is left out if the client did not ask for it. Some
 * vendors send it beside an empty choice, after the end.
 */
export const chunkRules: MakeRules = (context) => {
  const { includesUsage } = context
  const edits = replyEdits(namesOf(context))
  const withoutUsage = [...edits, cut("usage")]
  let hasEnded = false
  return {
    edit: (chunk): FrameEdits | undefined => {
      const choices = objectsAt(chunk, "choices")
      const { usage } = chunk
      const isUsage = isObject(usage) && (choices.length === 0 || hasEnded)
      if (isUsage && choices.length === 0 && !includesUsage) return undefined
      const isEnd = choices.some(({ finish_reason: reason }) => typeof reason === "string")
      hasEnded ||= isEnd
      return {
        edits: !includesUsage && (usage === null || isUsage) ? withoutUsage : edits,
        isHeld: isUsage || isEnd,
        tellsCharge: includesUsage ? isObject(usage) : isEnd,
      }
    },
    ...(includesUsage && { usage: (usage: Usage) => usageChunk(context, usage) }),
    last: "data: [DONE]\n\n",
  }
}
