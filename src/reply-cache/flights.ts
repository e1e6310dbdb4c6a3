/**
 * Calls that run now and whose replies others wait for: the same request is made once on a node. A flight has the
 * reply's lines from its beginning; a call that joins gets each line when it arrives.
 */
import type { Counts } from "../money/pricing.ts"

/** The facts of a reply that are known when it is whole, and not before. */
export interface ReplyFacts {
  /** The counts that its vendor call used. */
  readonly counts: Counts
  /** Whether it was made with the organisation's own key, and costs nothing here. */
  readonly isOwn: boolean
}

/** The size above which a reply is not kept and cannot be joined any more. */
export const maxLineBytes = 1024 * 1024

/** A part of a reply, in JSON; one that takes time to make is made only if somebody needs it. */
export type ReplyLine = string | { readonly bytes: number; readonly json: () => string }

export class Flight {
  readonly #watchers = new Set<() => void>()
  #lines: Array<string> = []
  #bytes = 0
  #state: "running" | "whole" | "failed" = "running"
  #facts: ReplyFacts | undefined
  #isFromStore = false
  /** Called when another call joins. */
  onShared: (() => void) | undefined

  /** Parts of the reply so far, in JSON. */
  get lines(): ReadonlyArray<string> {
    return this.#lines
  }

  get state() {
    return this.#state
  }

  /** Undefined until the reply is whole. */
  get facts(): ReplyFacts | undefined {
    return this.#facts
  }

  /** Whether the reply was kept already. */
  get isFromStore(): boolean {
    return this.#isFromStore
  }

  /** Whether another call than the one that made the vendor call waits for the reply. */
  get isShared(): boolean {
    return this.#watchers.size > 0
  }

  /** Whether the reply is small enough to be kept and shared with more. */
  get isKeepable(): boolean {
    return this.#bytes <= maxLineBytes
  }

  add(line: ReplyLine): void {
    const isMade = typeof line === "string"
    this.#bytes += isMade ? line.length : line.bytes
    if (this.isKeepable || this.isShared) this.#lines.push(isMade ? line : line.json())
    else this.#lines = []
    this.#tell()
  }

  /** The reply is whole. @param kept its lines, if it was found in the store */
  land(facts: ReplyFacts, kept?: ReadonlyArray<string>): void {
    if (kept !== undefined) {
      this.#lines = [...kept]
      this.#isFromStore = true
    }
    this.#facts = facts
    this.#state = "whole"
    this.#tell()
  }

  /** There will be no reply: the next in line makes the call. */
  fail(): void {
    if (this.#state !== "running") return
    this.#state = "failed"
    this.#tell()
  }

  /** Calls a function after each change. @returns a function that ends this */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed)
    this.onShared?.()
    return () => this.#watchers.delete(changed)
  }

  #tell(): void {
    for (const changed of [...this.#watchers]) changed()
  }
}
