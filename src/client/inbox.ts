/** Messages that wait for their reader; of several readers, each message has one. */
export class Inbox<A> {
  private readonly waiting: Array<A> = []
  private ended: { readonly error: unknown } | "done" | undefined
  private readonly takers = new Set<() => void>()

  put(message: A): void {
    if (this.ended === undefined) this.waiting.push(message)
    this.wake()
  }

  private wake(): void {
    for (const wake of this.takers) wake()
  }

  /** Fails the reader after the messages that have come. */
  fail(error: unknown): void {
    this.ended ??= { error }
    this.wake()
  }

  end(): void {
    this.ended ??= "done"
    this.wake()
  }

  /** The next message; undefined after the last one. Rejects with what failed, or with the signal's reason. */
  async take(signal?: AbortSignal): Promise<A | undefined> {
    for (;;) {
      signal?.throwIfAborted()
      if (this.waiting.length > 0) return this.waiting.shift()
      if (this.ended === "done") return undefined
      if (this.ended !== undefined) throw this.ended.error
      await this.change(signal)
    }
  }

  /** Waits for a message, an end, or the signal. */
  private change(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal?.removeEventListener("abort", wake)
        this.takers.delete(wake)
        resolve()
      }
      this.takers.add(wake)
      signal?.addEventListener("abort", wake)
    })
  }
}
