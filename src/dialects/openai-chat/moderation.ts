/** Moderation in OpenAI's format. Source: https://platform.openai.com/docs/api-reference/moderations */
import { Result } from "effect"
import { sourceUrl } from "../../protocol/block.ts"
import { InputType, type ModerationResult } from "../../protocol/kinds/moderation.ts"
import { isObject, type JsonObject, objectAt, objectsAt, reportedCountAt } from "../parse/json.ts"
import { jsonRequest, type ModerationAsked, type ModerationDialect } from "../whole-dialect.ts"
import type { ModerationProfile } from "./kind-profiles.ts"

/** Objects are parts of one input; texts are inputs of their own. */
const inputOf = ({ input }: ModerationAsked): ReadonlyArray<unknown> =>
  isTexts(input)
    ? input
    : input.map((part) =>
        typeof part === "string"
          ? { type: "text", text: part }
          : { type: "image_url", image_url: { url: sourceUrl(part) } },
      )

const isTexts = (input: ModerationAsked["input"]): boolean => input.every((part) => typeof part === "string")

export const makeModeration = ({ textsOnly }: ModerationProfile = {}): ModerationDialect => ({
  encode: (asked, model) =>
    textsOnly === true && !isTexts(asked.input)
      ? Result.fail({ capability: "input", message: "this vendor judges texts alone" })
      : Result.succeed(jsonRequest("/moderations", { model, input: inputOf(asked) })),
  decode: (body, { input }) => {
    const items = objectsAt(body, "results")
    if (items.length !== (isTexts(input) ? input.length : 1)) return undefined
    const results = items.flatMap((item) => resultOf(item) ?? [])
    const inTokens = reportedCountAt(objectAt(body, "usage"), "prompt_tokens")
    return results.length === items.length ? { results, inTokens } : undefined
  },
})

/**
 * Whether a result flags its input. Mistral reports only categories: https://docs.mistral.ai/api/endpoint/classifiers.
 * @returns undefined if the result does not say
 */
export const isFlagged = ({ flagged, categories }: JsonObject): boolean | undefined => {
  if (typeof flagged === "boolean") return flagged
  return flagged === undefined && isObject(categories) ? Object.values(categories).includes(true) : undefined
}

/** Models leave out categories that they do not know, or send `null`. */
const resultOf = (item: JsonObject): ModerationResult | undefined => {
  const { categories, category_scores: scores, category_applied_input_types: inputTypes } = item
  const flagged = isFlagged(item)
  if (flagged === undefined || !isObject(categories) || !isObject(scores)) return undefined
  return {
    flagged,
    categories: only(categories, isBoolean),
    scores: only(scores, isFiniteNumber),
    ...(isObject(inputTypes) && { inputTypes: only(inputTypes, isInputTypes) }),
  }
}

const isBoolean = (value: unknown): value is boolean => typeof value === "boolean"
const isFiniteNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value)
const isInputTypes = (value: unknown): value is ReadonlyArray<InputType> =>
  Array.isArray(value) && value.every((each) => InputType.literals.includes(each))

const only = <A>(record: JsonObject, is: (value: unknown) => value is A): Record<string, A> =>
  // Assigned one by one, a category named `__proto__` would be the object's prototype.
  Object.fromEntries(Object.entries(record).filter((entry): entry is [string, A] => is(entry[1])))
