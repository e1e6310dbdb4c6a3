/** The streams of changes that are open on this node, by their caller. Each has connections to servers. */
export class OpenStreams {
  readonly #most: number
  readonly #open = new Map<string, number>()

  /** @param most of one caller */
  constructor(most: number) {
    this.#most = most
  }

  /** @returns the function that ends it; undefined if its caller has too many */
  begin(caller: string): (() => void) | undefined {
    const open = this.#open.get(caller) ?? 0
    if (open >= this.#most) return undefined
    this.#open.set(caller, open + 1)
    return () => {
      const left = (this.#open.get(caller) ?? 1) - 1
      if (left === 0) this.#open.delete(caller)
      else this.#open.set(caller, left)
    }
  }

  get callers(): number {
    return this.#open.size
  }
}
