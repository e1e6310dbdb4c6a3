/** The events of one response that runs on this node: readers follow them while they are written. */

/** A text of events, and the number of its first one. */
export class EventLog {
  readonly #texts: Array<string> = []
  readonly #listeners = new Set<() => void>()
  #isEnded = false

  /** Texts of events in their order. */
  get texts(): ReadonlyArray<string> {
    return this.#texts
  }

  /** Whether no more will come. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  add(text: string): void {
    this.#texts.push(text)
    this.#tell()
  }

  end(): void {
    this.#isEnded = true
    this.#tell()
  }

  /** Calls a listener after each change. @returns a function that ends this */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
