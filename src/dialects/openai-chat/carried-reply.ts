/** Chat completions of a vendor, for clients of the same API. */

import { cut, editJsonText, type JsonEdit } from "../../protocol/json-edit.ts"
import type { Usage } from "../../protocol/usage.ts"
import { accountEdits, type FrameEdits, type MakeRules, nameEdits } from "../carried-reply.ts"
import type { ReplyContext } from "../client-api.ts"
import { isObject, type JsonObject, objectsAt } from "../json.ts"
import { completionId, usageChunk } from "./client-reply.ts"

const editsOf = (context: ReplyContext): Array<JsonEdit> => [
  ...nameEdits({ id: completionId(context), model: context.model }),
  ...accountEdits(),
]

export const carriedCompletion = (context: ReplyContext, json: string): string => editJsonText(json, editsOf(context))

export const chunkRules: MakeRules = (context) => ({
  edit: (chunk) => editsOfChunk(context, chunk),
  ...(context.includesUsage && { usage: (usage: Usage) => usageChunk(context, usage) }),
  last: "data: [DONE]\n\n",
})

/** What ends a choice, and the usage, come after the settlement. The usage is left out where the client did not ask for it. */
const editsOfChunk = (context: ReplyContext, chunk: JsonObject): FrameEdits | undefined => {
  const { includesUsage } = context
  const choices = objectsAt(chunk, "choices")
  const { usage } = chunk
  const isUsage = isObject(usage) && choices.length === 0
  if (isUsage && !includesUsage) return undefined
  const isEnd = choices.some(({ finish_reason: reason }) => typeof reason === "string")
  const edits = editsOf(context)
  if (!includesUsage && usage === null) edits.push(cut("usage"))
  return { edits, isHeld: isUsage || isEnd, tellsCharge: includesUsage ? isObject(usage) : isEnd }
}
