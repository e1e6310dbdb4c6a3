/** The time in which a client has taken none of the waiting bytes: of a reply, and of a session. */
export class Stall {
  readonly #stallMs: number
  #progressAtMs = 0
  #takenBytes = 0

  /** @param stallMs the time in which a client may take none of the waiting bytes */
  constructor(stallMs: number) {
    this.#stallMs = stallMs
  }

  /** Starts the measurement now. */
  begin(nowMs: number): void {
    this.#progressAtMs = nowMs
  }

  /** Bytes wait from now on; those that were taken before are no progress. */
  wait(takenBytes: number): void {
    this.#takenBytes = takenBytes
  }

  /**
   * The time when the client is stalled, as it looks now.
   * @param takenBytes only differences matter
   */
  dueMs(nowMs: number, unsentBytes: number, takenBytes: number): number {
    if (unsentBytes === 0 || takenBytes !== this.#takenBytes) this.#progressAtMs = nowMs
    this.#takenBytes = takenBytes
    return this.#progressAtMs + this.#stallMs
  }
}
