/**
 * The bytes of large bodies that are read and processed in one turn of the event loop, of all connections together:
 * otherwise many clients would fill a turn with their reads, and streams would wait.
 */
export class EventLoopBudget {
  readonly #bytes: number
  #left: number
  /** The readers that took more than was left, oldest first. */
  readonly #waiting: Array<{ readonly bytes: number; readonly goOn: () => void }> = []
  #isNextDue = false

  /** @param bytes the bytes of one turn */
  constructor(bytes: number) {
    this.#bytes = bytes
    this.#left = bytes
  }

  /**
   * Counts bytes that were taken.
   * @returns a promise of the time when more may be taken; undefined if that is now
   */
  take(bytes: number): Promise<void> | undefined {
    this.#awaitNext()
    if (this.#waiting.length === 0 && bytes <= this.#left) {
      this.#left -= bytes
      return undefined
    }
    return new Promise((goOn) => this.#waiting.push({ bytes, goOn }))
  }

  #awaitNext(): void {
    if (this.#isNextDue) return
    this.#isNextDue = true
    setImmediate(() => {
      this.#isNextDue = false
      this.#left = this.#bytes
      this.#wake()
    })
  }

  #wake(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#left > 0; next = this.#waiting[0]) {
      this.#left -= next.bytes
      this.#waiting.shift()
      next.goOn()
    }
    if (this.#waiting.length > 0) this.#awaitNext()
  }
}
