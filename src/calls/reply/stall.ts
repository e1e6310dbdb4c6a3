/** How long a client has taken nothing of what waits for it: of a reply, and of a session. */
export class Stall {
  readonly #stallMs: number
  #progressAtMs = 0
  #takenBytes = 0

  /** @param stallMs how long a client may take none of the waiting bytes */
  constructor(stallMs: number) {
    this.#stallMs = stallMs
  }

  /** Counts from now on. */
  begin(nowMs: number): void {
    this.#progressAtMs = nowMs
  }

  /** Bytes wait from now on; those that were taken before are no progress. */
  wait(takenBytes: number): void {
    this.#takenBytes = takenBytes
  }

  /** When the client is stalled, as it looks now. @param takenBytes only differences matter */
  dueMs(nowMs: number, unsentBytes: number, takenBytes: number): number {
    if (unsentBytes === 0 || takenBytes !== this.#takenBytes) this.#progressAtMs = nowMs
    this.#takenBytes = takenBytes
    return this.#progressAtMs + this.#stallMs
  }
}
