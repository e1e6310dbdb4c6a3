/** Moderation in OpenAI's words. Source: https://platform.openai.com/docs/api-reference/moderations */
import { Result } from "effect"
import { sourceUrl } from "../../protocol/block.ts"
import type { ModerationResult } from "../../protocol/moderation.ts"
import { isObject, type JsonObject, objectAt, objectsAt, reportedCountAt } from "../json.ts"
import { jsonRequest, type ModerationAsked, type ModerationDialect } from "../whole.ts"

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

export const openaiModeration: ModerationDialect = {
  encode: (asked, model) => Result.succeed(jsonRequest("/moderations", { model, input: inputOf(asked) })),
  decode: (body, { input }) => {
    const items = objectsAt(body, "results")
    if (items.length !== (isTexts(input) ? input.length : 1)) return undefined
    const results = items.flatMap((item) => resultOf(item) ?? [])
    const inTokens = reportedCountAt(objectAt(body, "usage"), "prompt_tokens")
    return results.length === items.length ? { results, inTokens } : undefined
  },
}

/** Models leave out categories that they do not know, or send `null`. */
const resultOf = (item: JsonObject): ModerationResult | undefined => {
  const { flagged, categories, category_scores: scores } = item
  if (typeof flagged !== "boolean" || !isObject(categories) || !isObject(scores)) return undefined
  return { flagged, categories: only(categories, isBoolean), scores: only(scores, isFiniteNumber) }
}

const isBoolean = (value: unknown): value is boolean => typeof value === "boolean"
const isFiniteNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value)

const only = <A>(record: JsonObject, is: (value: unknown) => value is A): Record<string, A> =>
  // Assigned one by one, a category named `__proto__` would be the object's prototype.
  Object.fromEntries(Object.entries(record).filter((entry): entry is [string, A] => is(entry[1])))
