/**
 * JSON text as a value: text of a client or a vendor is forwarded with its bytes, because parsing and writing it again would
 * change integers above 2^53, numbers such as `1.10`, the order of members, white space and escapes.
 */
import { randomUUID } from "node:crypto"
import { countJson, workerLimits } from "./json-size.ts"

/** JSON text that is known to be valid. {@link writeJson} writes it as it is; `JSON.stringify` writes its value. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    // UTF-8 has no lone surrogates; in JSON they appear in strings only, where an escape means the same.
    this.text = text.isWellFormed() ? text : text.replace(/\p{Surrogate}/gu, escaped)
  }

  get value(): unknown {
    return JSON.parse(this.text)
  }

  /** Read by `JSON.stringify`. */
  toJSON(): unknown {
    if (met === undefined) return this.value
    met.push(this.text)
    return placeholder
  }
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16)}`

/** A placeholder for a text while the rest is written. It never leaves this file, so no input can contain it. */
const placeholder = randomUUID()

/** Texts that were met while a value is written; undefined while none is. */
let met: Array<string> | undefined

/** JSON of a value, in which each {@link JsonText} is its text. */
export const writeJson = (value: unknown): string => {
  const texts: Array<string> = []
  const outer = met
  met = texts
  try {
    const json = JSON.stringify(value)
    return texts.length === 0 ? json : filled(json, texts)
  } finally {
    met = outer
  }
}

const filled = (json: string, texts: ReadonlyArray<string>): string =>
  json
    .split(`"${placeholder}"`)
    .map((piece, at) => piece + (texts[at] ?? ""))
    .join("")

/**
 * The text of a value if writing the value would give another text. Undefined if not, and if an object names a member twice:
 * readers of such a text disagree on its value.
 */
export const textUnlike = (text: string, value: unknown): string | undefined =>
  JSON.stringify(value) === text || countJson(Buffer.from(text), workerLimits).names !== namesIn(value)
    ? undefined
    : text

/** An exponent of three digits, or enough digits to make up for a shorter one. */
const mayOverflow = /[eE]\+?\d{3}|\d{200}/

/** Whether a number in a text is too large for twp/1, whose numbers are finite. @param value of the text */
export const overflows = (text: string, value: unknown): boolean => mayOverflow.test(text) && hasInfinity(value)

const hasInfinity = (value: unknown): boolean =>
  typeof value === "number"
    ? !Number.isFinite(value)
    : typeof value === "object" && value !== null && Object.values(value).some(hasInfinity)

/** The names in a value; its depth has been checked. */
export const namesIn = (json: unknown): number => {
  if (typeof json !== "object" || json === null) return 0
  const values: ReadonlyArray<unknown> = Object.values(json)
  let names = Array.isArray(json) ? 0 : values.length
  for (const value of values) names += namesIn(value)
  return names
}
