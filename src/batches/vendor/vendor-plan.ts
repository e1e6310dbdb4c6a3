/** Whether a batch runs at a vendor, and its submissions: decided while its requests are read. */
import type { NewSubmission } from "../batch.ts"
import type { VendorLine } from "./vendor-line.ts"

interface Filling extends NewSubmission {
  readonly items: number
  readonly vendorBytes: number
}

/** The submissions of a batch, as long as each of its requests runs at the same target. */
export class VendorPlan {
  #isPossible = true
  #first: VendorLine | undefined
  readonly #done: Array<NewSubmission> = []
  #filling: Filling | undefined
  /** Requests before the first one that has a line. */
  #ahead = { lines: 0, bytes: 0 }

  /** Whether further requests can make a difference. */
  get isPossible(): boolean {
    return this.#isPossible
  }

  /**
   * Adds a request.
   * @param at its number and place in the gateway's file
   * @param line undefined if its target does not run it in a batch; "refused" if its route refuses it
   */
  add(
    at: { readonly number: number; readonly place: number; readonly bytes: number },
    line: VendorLine | "refused" | undefined,
  ): void {
    if (!this.#isPossible) return
    if (line === "refused") {
      this.#grow(at.bytes)
      return
    }
    this.#first ??= line
    const first = this.#first
    const isSame = line !== undefined && line.target.key === first?.target.key && line.group === first.group
    const { items, bytes } = line?.dialect.bounds ?? { items: 0, bytes: 0 }
    const vendorBytes = line === undefined ? 0 : Buffer.byteLength(line.text) + line.dialect.between.length
    if (!isSame || line.items > items || vendorBytes > bytes) {
      this.#isPossible = false
      return
    }
    const now = this.#filling
    if (now !== undefined && now.items + line.items <= items && now.vendorBytes + vendorBytes <= bytes) {
      this.#filling = {
        ...now,
        lines: now.lines + 1,
        bytes: now.bytes + at.bytes,
        items: now.items + line.items,
        vendorBytes: now.vendorBytes + vendorBytes,
      }
      return
    }
    if (now !== undefined) this.#close(now)
    const { target, group } = line
    this.#filling = {
      first: at.number - this.#ahead.lines,
      lines: 1 + this.#ahead.lines,
      place: at.place - this.#ahead.bytes,
      bytes: at.bytes + this.#ahead.bytes,
      ...{ vendor: target.vendor.id, targetModel: target.model, target: target.key, isOwn: target.isOwn, group },
      ...{ items: line.items, vendorBytes },
    }
    this.#ahead = { lines: 0, bytes: 0 }
  }

  /** Undefined if the gateway runs the batch. */
  submissions(): ReadonlyArray<NewSubmission> | undefined {
    if (!this.#isPossible || this.#filling === undefined) return undefined
    this.#close(this.#filling)
    this.#filling = undefined
    return this.#done
  }

  /** A request that its route refuses goes along: the gateway gives its refusal in the end. */
  #grow(bytes: number): void {
    const now = this.#filling
    if (now === undefined) this.#ahead = { lines: this.#ahead.lines + 1, bytes: this.#ahead.bytes + bytes }
    else this.#filling = { ...now, lines: now.lines + 1, bytes: now.bytes + bytes }
  }

  #close({ items: _items, vendorBytes: _bytes, ...submission }: Filling): void {
    this.#done.push(submission)
  }
}
