/** Numbers in JSON, of which a reader keeps the first digits only. Pure. */
import { isObject } from "../dialects/parse/json.ts"

/** More digits than a number keeps. */
const longNumber = /\d{16}/

/** A number with more digits than a number keeps. */
export class LongNumber {
  /** All of its digits. */
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value in which long numbers are their texts; the JSON is valid. */
export const withLongNumbers = (json: string): unknown => parsed(json, (text) => text)

/** A value in which long numbers keep their digits; the JSON is valid. */
export const withAllDigits = (json: string): unknown => parsed(json, (text) => new LongNumber(text))

/** Source: ECMA-262, "JSON.parse", whose reviver gets the text of a number. */
const parsed = (json: string, ofLong: (text: string) => unknown): unknown => {
  if (!longNumber.test(json)) return JSON.parse(json)
  return JSON.parse(json, (_name: string, value: unknown, context?: unknown): unknown => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value
    const source = isObject(context) ? context["source"] : undefined
    return typeof source === "string" && longNumber.test(source) ? ofLong(source) : value
  })
}

/** Members of the APIs that count or weigh: their numbers are no text. */
export const countingMembers: ReadonlySet<string> = new Set(
  `
    budget_tokens candidateCount dimensions endOffset fps frequencyPenalty frequency_penalty index logprobs maxOutputTokens
    maxTokens max_completion_tokens max_output_tokens max_tokens max_tool_calls max_uses min_p n num_ctx num_predict
    output_compression partial_images presencePenalty presence_penalty random_seed repetition_penalty responseLogprobs seed
    startOffset stop_token_ids temperature thinkingBudget thinking_budget token_budget topK topP top_k top_logprobs top_p
    ttl
  `
    .trim()
    .split(/\s+/),
)
