/** Citations of a reply, no more than a block of twp/1 has: a client could not read others, or send them back. */
import type { VendorEvent } from "../../dialects/chat-dialect.ts"
import { mostCitations } from "../../protocol/citation.ts"

export class CitedBlocks {
  /** The number of citations of each block. */
  readonly #counts = new Map<string, number>()

  limited(events: ReadonlyArray<VendorEvent>): ReadonlyArray<VendorEvent> {
    return events.some(isCited) ? events.map((event) => this.#limit(event)) : events
  }

  #limit(event: VendorEvent): VendorEvent {
    if (event.kind !== "delta" || event.delta.t !== "text" || event.delta.citations === undefined) return event
    const { citations, ...delta } = event.delta
    const block = `${delta.reply ?? 0} ${delta.i}`
    const count = this.#counts.get(block) ?? 0
    const kept = citations.slice(0, mostCitations - count)
    this.#counts.set(block, count + kept.length)
    return { ...event, delta: kept.length === 0 ? delta : { ...delta, citations: kept } }
  }
}

const isCited = (event: VendorEvent): boolean =>
  event.kind === "delta" && event.delta.t === "text" && event.delta.citations !== undefined
