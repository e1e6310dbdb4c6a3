/**
 * The blocks of a streamed reply, as its client counts them. A block ends when the next one begins; a vendor that returns to an
 * earlier one is followed, because deltas have an index.
 */
export class BlockIndexes {
  /** The indexes of blocks by their number in twp/1. */
  readonly #byNumber = new Map<number, number>()
  /** The block that is being written. */
  open: number | undefined

  /** Undefined for a block that has not begun. */
  of(number: number): number | undefined {
    return this.#byNumber.get(number)
  }

  begin(number: number): number {
    const index = this.#byNumber.size
    this.#byNumber.set(number, index)
    this.open = index
    return index
  }
}
