/**
 * Consecutive frames of a stream usually have the same bytes except for the string with the text. Once one such frame
 * is parsed in full, the following ones need no parsing: the same bytes around a well-formed string have the same
 * meaning, with that string in place of the other. Frames that differ otherwise are parsed. Pure.
 *
 * Proof: a frame without a backslash encodes every string in exactly one way, so that a text which occurs in it once,
 * between quotes, is where the text came from. Replacing a string literal by another changes no other part of the JSON
 * value.
 */

import type { TextEnvelope } from "../carry/vendor-frame.ts"
import type { VendorEvent } from "../chat-dialect.ts"

export interface Repeated {
  readonly event: Extract<VendorEvent, { readonly kind: "delta" }>
  /** The position of the frame's end. */
  readonly end: number
}

/** Longer frames are parsed; text frames are short. */
const maxFrameLength = 1024
const quote = 0x22
const backslash = 0x5c
/** Lower bytes are control characters, which JSON does not allow in strings. */
const firstPrintable = 0x20

/** The envelope of a frame that has just been parsed. @param event its only event */
export const learnEnvelope = (frame: string, event: VendorEvent | undefined): TextEnvelope | undefined => {
  if (event?.kind !== "delta" || event.delta.t !== "text" || frame.length > maxFrameLength) return undefined
  const { i, v, logprobs, reply } = event.delta
  if (logprobs !== undefined || reply !== undefined) return undefined
  if (frame.includes("\\")) return undefined
  const literal = `"${v}"`
  const at = frame.indexOf(literal)
  if (at === -1 || frame.indexOf(literal, at + 1) !== -1) return undefined
  return { before: frame.slice(0, at + 1), after: frame.slice(at + literal.length - 1), block: i }
}

/** The frame at a position, if only its text differs; undefined otherwise. */
export const readEnvelope = (
  { before, after, block }: TextEnvelope,
  text: string,
  at: number,
): Repeated | undefined => {
  if (!text.startsWith(before, at)) return undefined
  const start = at + before.length
  let close = start
  let isEscaped = false
  for (let code = text.charCodeAt(close); code !== quote; code = text.charCodeAt(close)) {
    // Past the end, the byte is NaN, which is not printable either.
    if (!(code >= firstPrintable)) return undefined
    if (code === backslash) isEscaped = true
    close += code === backslash ? 2 : 1
  }
  const end = close + after.length
  if (close === start || end - at > maxFrameLength || !text.startsWith(after, close)) return undefined
  const json = text.slice(start - 1, close + 1)
  const v = isEscaped ? unescaped(json) : text.slice(start, close)
  return v === undefined ? undefined : { event: { kind: "delta", delta: { i: block, t: "text", v }, json }, end }
}

const unescaped = (json: string): string | undefined => {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === "string" ? value : undefined
  } catch {
    return undefined
  }
}
