/** Chat completions of a vendor, for clients of the same API. */

import { cut, editJsonText, type JsonEdit } from "../../protocol/json-edit.ts"
import type { Usage } from "../../protocol/usage.ts"
import { accountEdits, type FrameEdits, type MakeRules, nameEdits } from "../carried-reply.ts"
import type { ReplyContext } from "../client-api.ts"
import { isObject, objectsAt } from "../json.ts"
import { completionId, usageChunk } from "./client-reply.ts"

const editsOf = (context: ReplyContext): Array<JsonEdit> => [
  ...nameEdits({ id: completionId(context), model: context.model }),
  ...accountEdits(),
]

export const carriedCompletion = (context: ReplyContext, json: string): string => editJsonText(json, editsOf(context))

/**
 * What ends a choice, and the usage, come after the settlement. The usage is left out where the client did not ask for it. Some
 * vendors tell it beside an empty choice, after the end.
 */
export const chunkRules: MakeRules = (context) => {
  const { includesUsage } = context
  let hasEnded = false
  return {
    edit: (chunk): FrameEdits | undefined => {
      const choices = objectsAt(chunk, "choices")
      const { usage } = chunk
      const isUsage = isObject(usage) && (choices.length === 0 || hasEnded)
      if (isUsage && choices.length === 0 && !includesUsage) return undefined
      const isEnd = choices.some(({ finish_reason: reason }) => typeof reason === "string")
      const edits = editsOf(context)
      if (!includesUsage && (usage === null || isUsage)) edits.push(cut("usage"))
      hasEnded ||= isEnd
      return { edits, isHeld: isUsage || isEnd, tellsCharge: includesUsage ? isObject(usage) : isEnd }
    },
    ...(includesUsage && { usage: (usage: Usage) => usageChunk(context, usage) }),
    last: "data: [DONE]\n\n",
  }
}
