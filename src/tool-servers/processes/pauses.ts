/** Pauses after the crashes of a server's processes: each is twice as long as the one before. */
import type { ProcessFailed, ProcessLimits } from "./options.ts"

export class Pauses {
  readonly #limits: Pick<ProcessLimits, "firstPauseMs" | "maxPauseMs" | "stableMs">
  /** Crashes in a row. */
  #crashes = 0
  #untilMs = 0
  /** Crashes in all. */
  failures = 0
  lastFailure: ProcessFailed | undefined

  constructor(limits: Pick<ProcessLimits, "firstPauseMs" | "maxPauseMs" | "stableMs">) {
    this.#limits = limits
  }

  /** The rest of the pause; 0 or less if there is none. */
  get restMs(): number {
    return this.#untilMs - Date.now()
  }

  /** @param readySinceMs absent if the process was never ready */
  crashed(cause: ProcessFailed, readySinceMs: number | undefined): void {
    const { firstPauseMs, maxPauseMs, stableMs } = this.#limits
    const nowMs = Date.now()
    this.#crashes = readySinceMs !== undefined && nowMs - readySinceMs >= stableMs ? 1 : this.#crashes + 1
    this.#untilMs = nowMs + Math.min(maxPauseMs, firstPauseMs * 2 ** (this.#crashes - 1))
    this.failures++
    this.lastFailure = cause
  }
}
