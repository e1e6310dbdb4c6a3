/**
 * Strings that reach a store. PostgreSQL's `text` and `jsonb` do not accept U+0000, and UTF-8 cannot encode a lone
 * surrogate: such values would fail in the database, so they are refused at the edge.
 */
import { Schema } from "effect"
import { isDeeperThan } from "../json/depth.ts"

/** The reason why a string that is not {@link isStorable} is refused. */
export const storableMessage = "well-formed Unicode without U+0000 is required"

/** Whether PostgreSQL can store a string. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

/** The nearest text that is {@link isStorable}. */
export const toStorable = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\ufffd")

/**
 * Control characters, and invisible ones or those that change the order of others: two names that look the same must be the
 * same. Source: Unicode Technical Standard 39; UAX 9. The last four are fillers of Hangul, which are letters without a form.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/u

/** Whether a name has invisible characters. */
export const hasUnseen = (text: string): boolean => unseen.test(text)

/** Free text, e.g. a reason: any characters that can be stored. */
export const StoredText = Schema.String.check(
  Schema.makeFilter((text: string) => (isStorable(text) ? undefined : storableMessage)),
)

/** Identifiers and names: not empty, of limited length, without control and invisible characters. */
export const storedName = (maxLength: number) =>
  Schema.NonEmptyString.check(
    Schema.isMaxLength(maxLength),
    Schema.makeFilter((text: string) =>
      isStorable(text) && !hasUnseen(text)
        ? undefined
        : "well-formed Unicode without control or invisible characters is required",
    ),
  )

/** Longest parameter of a path, in characters: a key path has up to 16 names of 64. */
const maxPathParameter = 2048

/** An id in a path. */
export const PathId = storedName(maxPathParameter)

const maxJsonDepth = 32

/** JSON whose strings and keys can be stored, at most 32 levels deep. */
export const StoredJson = Schema.Json.check(
  Schema.makeFilter((value: Schema.Json) =>
    !isDeeperThan(value, maxJsonDepth) && isStorableJson(value)
      ? undefined
      : "at most 32 levels of well-formed Unicode without U+0000 are required",
  ),
)

/** Whether all strings and keys of a JSON value can be stored. */
const isStorableJson = (value: Schema.Json): boolean => {
  if (typeof value === "string") return isStorable(value)
  if (typeof value !== "object" || value === null) return true
  return Object.entries(value).every(([key, member]) => isStorable(key) && isStorableJson(member))
}

/** Canonical spelling of a mail address: trimmed, lower case. */
export const normalEmail = (email: string): string => email.trim().toLowerCase()
