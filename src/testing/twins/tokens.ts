/** Counts of a prompt's tokens: four characters are one, and each picture has a number of its own. */
import { isObject } from "../../dialects/parse/json.ts"

/** English text has about four characters in a token: https://ai.google.dev/gemini-api/docs/tokens */
const charactersPerToken = 4

/** Members whose text is data or an address, and not read as words. */
const mediaNames = new Set([
  "data",
  "url",
  "file_data",
  "fileUri",
  "image_url",
  "encrypted_content",
  "thoughtSignature",
])

/** @param perPicture tokens of a picture, or of another file */
export const promptTokens = (value: unknown, perPicture: number): number => {
  if (typeof value === "string") return Math.ceil(value.length / charactersPerToken)
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + promptTokens(each, perPicture), 0)
  if (!isObject(value)) return value === undefined || value === null ? 0 : 1
  return Object.entries(value).reduce(
    (sum, [name, each]) =>
      sum + (mediaNames.has(name) && typeof each === "string" ? perPicture : 1 + promptTokens(each, perPicture)),
    0,
  )
}
