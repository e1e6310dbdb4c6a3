/** The error output of a tool server's processes in the log, with a bound for each minute. */
import { Effect, type Fiber } from "effect"

const minuteMs = 60_000

export interface ErrorLogOptions {
  readonly server: string
  /** Lines in each minute. */
  readonly maxLines: number
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

/** @returns logs a line */
export const makeErrorLog = ({ server, maxLines, fork }: ErrorLogOptions): ((text: string) => void) => {
  let lines = 0
  let leftOut = 0
  let minute = 0
  return (text) => {
    const current = Math.floor(Date.now() / minuteMs)
    if (current !== minute) {
      if (leftOut > 0)
        fork(Effect.logDebug("Lines of a tool server's error output were left out", { server, lines: leftOut }))
      minute = current
      lines = 0
      leftOut = 0
    }
    if (++lines > maxLines) leftOut++
    else fork(Effect.logDebug("Error output of a tool server", { server, line: text }))
  }
}
