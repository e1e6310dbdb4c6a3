/**
 * Optional parameters: a dialect, or a vendor's profile of it, lists those that it supports. A parameter that a target does
 * not support makes it unfit, unless its value changes nothing.
 */
import { Result } from "effect"
import { type ExtraName, type ExtraParams, extraNames } from "../../protocol/extra-params.ts"
import type { EncodeRefusal } from "../wire.ts"

type Values = { readonly [Name in ExtraName]: NonNullable<ExtraParams[Name]> }

/** The vendor's form of a parameter: fields of its request; undefined if it does not support this value. */
export type ExtraWords = {
  readonly [Name in ExtraName]?: (value: Values[Name]) => object | undefined
}

/** The same name and value as in twp/1. */
export const sameAs =
  (field: string) =>
  (value: unknown): object => ({ [field]: value })

/** Values that ask for the default. */
const isNeutral: { readonly [Name in ExtraName]?: (value: Values[Name]) => boolean } = {
  frequencyPenalty: (value) => value === 0,
  presencePenalty: (value) => value === 0,
  minP: (value) => value === 0,
  n: (value) => value === 1,
  verbosity: (value) => value === "medium",
  logitBias: (value) => Object.keys(value).length === 0,
  stopTokens: (value) => value.length === 0,
}

/** Whether a request has a parameter with a value other than the default. */
export const isAsked = <Name extends ExtraName>(name: Name, extras: Partial<Values> | undefined): boolean => {
  const value: Values[Name] | undefined = extras?.[name]
  return value !== undefined && isNeutral[name]?.(value) !== true
}

/**
 * The fields of a request for its parameters. Content that is stored at Gemini is the prompt's beginning: other vendors lack
 * it.
 */
export const encodeExtras = (
  extras: ExtraParams | undefined,
  words: ExtraWords,
): Result.Result<object, EncodeRefusal> => {
  if (extras === undefined) return Result.succeed({})
  if (extras.vendorOptions?.gemini?.cachedContent !== undefined) return Result.fail(lacks("cachedContent"))
  const fields = {}
  for (const name of extraNames) {
    const encoded = fieldOf(name, extras, words)
    if (encoded === "none") return Result.fail(lacks(name))
    Object.assign(fields, encoded)
  }
  return Result.succeed(fields)
}

const fieldOf = <Name extends ExtraName>(
  name: Name,
  extras: Partial<Values>,
  words: ExtraWords,
): object | "none" | undefined => {
  const value: Values[Name] | undefined = extras[name]
  if (value === undefined || !isAsked(name, extras)) return undefined
  return words[name]?.(value) ?? "none"
}

export const lacks = (name: ExtraName | "cachedContent" | "videos" | "audio"): EncodeRefusal => ({
  capability: name,
  message: `this model does not support ${name}`,
})
