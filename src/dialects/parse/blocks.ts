/** Numbers the blocks of a reply in the order of their first content, independent of the vendor's numbers. */
import type { SealingDialect } from "../../protocol/block.ts"
import type { Citation } from "../../protocol/citation.ts"
import type { TokenLogprob } from "../../protocol/extra-params.ts"
import type { VendorEvent } from "../chat-dialect.ts"

type DeltaEvent = Extract<VendorEvent, { kind: "delta" }>

interface TextDeltaEvent {
  readonly kind: "delta"
  readonly delta: Extract<DeltaEvent["delta"], { readonly t: "text" }>
}

/** Most replies have one block: a stream keeps nothing more for it. */
export class BlockNumbers {
  #first: string | undefined
  #others: Map<string, number> | undefined

  /** The block index for a vendor's key; the first call for a key creates it. */
  of(key: string): number {
    this.#first ??= key
    if (key === this.#first) return 0
    this.#others ??= new Map()
    const known = this.#others.get(key)
    if (known !== undefined) return known
    const next = this.#others.size + 1
    this.#others.set(key, next)
    return next
  }

  isOpen(key: string): boolean {
    return key === this.#first || this.#others?.has(key) === true
  }
}

export const textDelta = (i: number, v: string, logprobs?: ReadonlyArray<TokenLogprob>): TextDeltaEvent =>
  logprobs === undefined
    ? { kind: "delta", delta: { i, t: "text", v } }
    : { kind: "delta", delta: { i, t: "text", v, logprobs } }

/** The sources of a text block. */
export const citationsDelta = (i: number, citations: ReadonlyArray<Citation>): DeltaEvent => ({
  kind: "delta",
  delta: { i, t: "text", v: "", citations },
})

export const reasoningDelta = (i: number, v: string): DeltaEvent => ({ kind: "delta", delta: { i, t: "reasoning", v } })

/** The signature of a reasoning block, which ends it. */
export const signatureDelta = (i: number, signature: string): DeltaEvent => ({
  kind: "delta",
  delta: { i, t: "reasoning", v: "", signature },
})

export const toolCallOpen = (i: number, id: string, name: string): DeltaEvent => ({
  kind: "delta",
  delta: { i, t: "tool_call", id, name },
})

export const toolCallArgs = (i: number, args: string): DeltaEvent => ({
  kind: "delta",
  delta: { i, t: "tool_call", args },
})

/** A call of a tool that takes a text. */
export const textCallOpen = (i: number, id: string, name: string): DeltaEvent => ({
  kind: "delta",
  delta: { i, t: "tool_call", id, name, text: "" },
})

export const textCallPart = (i: number, text: string): DeltaEvent => ({
  kind: "delta",
  delta: { i, t: "tool_call", text },
})

/**
 * A block of a vendor's own tool.
 * @param v its JSON as it arrived
 */
export const vendorDelta = (i: number, dialect: SealingDialect, v: string): DeltaEvent => ({
  kind: "delta",
  delta: { i, t: "vendor", dialect, v },
})

/** Adds to events, from the first of them, the number of the reply that they belong to. */
export const markReply = (events: Array<VendorEvent>, first: number, reply: number): void => {
  if (reply === 0) return
  for (let at = first; at < events.length; at++) {
    const event = events[at]
    if (event !== undefined) events[at] = ofReply(event, reply)
  }
}

/** An event of one of several replies. */
export const ofReply = <Event extends VendorEvent>(event: Event, reply: number): Event => {
  if (reply === 0) return event
  if (event.kind === "stop") return { ...event, reply }
  return event.kind === "delta" ? { ...event, delta: { ...event.delta, reply } } : event
}
