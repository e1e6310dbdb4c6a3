/** The texts of a stream's deltas. Pure. */
import type { Delta } from "../../protocol/event.ts"

/** The text of a delta that models write; sealed reasoning is none. */
export const textOf = (delta: Delta): string | undefined => {
  switch (delta.t) {
    case "vendor":
      return undefined
    case "text":
      return delta.v
    case "reasoning":
      return delta.redacted === true ? undefined : delta.v
    case "tool_call":
      return delta.args ?? delta.text
  }
}

/** @param isOther whether it is another text than the vendor's: probabilities of its tokens are left out then */
export const withText = (delta: Delta, text: string, isOther = false): Delta => {
  if (delta.t === "tool_call") return { ...delta, ...(delta.args === undefined ? { text } : { args: text }) }
  if (delta.t !== "text" || !isOther) return { ...delta, v: text }
  const { logprobs: _, ...rest } = delta
  return { ...rest, v: text }
}

/** The place itself, or the one before it if that cuts a pair of surrogates. */
export const wholeAt = (text: string, at: number): number => {
  const code = text.charCodeAt(at - 1)
  return code >= 0xd800 && code <= 0xdbff ? at - 1 : at
}

/** Whether two parts belong to one block. */
export const isSameText = (one: Delta, other: Delta): boolean =>
  one.t === other.t && one.i === other.i && one.reply === other.reply && isOnlyText(one)

/** Whether a delta can be given in parts. */
export const isOnlyText = (delta: Delta): boolean => {
  if (delta.t === "text") return delta.citations === undefined && delta.logprobs === undefined
  if (delta.t === "reasoning") return delta.signature === undefined
  return delta.t === "tool_call" && delta.id === undefined && delta.name === undefined
}
