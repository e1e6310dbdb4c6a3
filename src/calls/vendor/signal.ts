/** The reason that ends a call early: its client, or a deadline. */
export class Signal<E> {
  #reason: E | undefined
  #listener: ((reason: E) => void) | undefined

  /** The reason why the call ends; undefined while it may go on. */
  get reason(): E | undefined {
    return this.#reason
  }

  /** Ends the call; only the first reason counts. */
  end(reason: E): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#listener?.(reason)
  }

  /** Sets the listener, one at a time, because a call waits in one place; undefined removes it. */
  listen(listener: ((reason: E) => void) | undefined): void {
    this.#listener = listener
    if (this.#reason !== undefined) listener?.(this.#reason)
  }
}
