/** The texts of whole replies, with others in their places. Pure. */
import type { ReplyBlock } from "../../protocol/block.ts"
import type { ReviewedPart } from "../../protocol/catalogue/policy.ts"
import { mapTexts } from "../../protocol/json/json-strings.ts"
import { frameOf, leavesOf, withTexts } from "./frame-texts.ts"

/** Another text for one. @param isJson whether it is JSON in a string */
export type EditText = (text: string, part: ReviewedPart | "own", isJson: boolean) => string

export const editBlock = (block: ReplyBlock, edit: EditText): ReplyBlock => {
  switch (block.t) {
    case "text":
      return { ...block, v: edit(block.v, "text", false) }
    case "reasoning":
      return block.redacted === true ? block : { ...block, v: edit(block.v, "text", false) }
    case "vendor":
      return { ...block, v: editJsonTexts(block.v, edit) }
    case "tool_call": {
      const { input, json, text } = block
      return {
        ...block,
        input: mapTexts(input, (each) => edit(each, "toolArguments", false)),
        ...(json !== undefined && { json: edit(json, "toolArguments", true) }),
        ...(text !== undefined && { text: edit(text, "toolArguments", false) }),
      }
    }
  }
}

/** The texts in a vendor's JSON, in place: all other bytes stay. */
export const editJsonTexts = (json: string, edit: EditText): string => {
  const read = frameOf(json)
  if (read === undefined) return edit(json, "text", false)
  const changed = leavesOf(read).flatMap(({ path, text, isJson, ofCall, isOwn, isName }) => {
    if (isName) return []
    const made = edit(text, isOwn ? "own" : ofCall ? "toolArguments" : "text", isJson)
    return made === text ? [] : [[path, made] as const]
  })
  return changed.length === 0 ? json : withTexts(json, changed)
}
