/**
 * The field `json` of a call in a thread: the text of its input. It goes to vendors instead of the input, so it must mean the
 * same.
 */
import type { SentMessage } from "../../protocol/block.ts"
import { type InputIssue, maxIssues } from "../../protocol/json/find-issues.ts"
import { countJson, loopLimits } from "../../protocol/json/json-size.ts"
import { namesIn, overflows } from "../../protocol/json/json-text.ts"
import { isRecord } from "../../protocol/json/plain-check.ts"
import { canonicalJson } from "../../protocol/values/canonical.ts"

export const findCallTextIssues = (thread: ReadonlyArray<SentMessage>): ReadonlyArray<InputIssue> => {
  const issues: Array<InputIssue> = []
  for (const [at, { blocks }] of thread.entries()) {
    for (const [index, block] of blocks.entries()) {
      if (block.t !== "tool_call" || block.json === undefined || issues.length === maxIssues) continue
      const message = refusalOf(block.json, block.input)
      if (message !== undefined) issues.push({ path: `thread.${at}.blocks.${index}.json`, message })
    }
  }
  return issues
}

const refusalOf = (json: string, input: object): string | undefined => {
  const { names, exceeded } = countJson(Buffer.from(json), loopLimits)
  if (exceeded === "levels") return `must not be nested deeper than ${loopLimits.levels}`
  if (exceeded !== undefined) return `must not have more than ${loopLimits[exceeded]} ${exceeded}`
  const value = parsed(json)
  if (!isRecord(value)) return "must be the text of a JSON object"
  if (namesIn(value) !== names) return "must name each member of an object once"
  if (overflows(json, value)) return "must not have a number beyond those of twp/1"
  return canonicalJson(value) === canonicalJson(input) ? undefined : "must be the text of input"
}

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
