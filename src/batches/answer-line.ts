/** Makes the call of one request of a batch, and keeps its reply if that is the answer. */
import { Effect } from "effect"
import { type BatchMoney, type Caller, inBatch } from "../identity/caller.ts"
import { ServiceError } from "../protocol/error.ts"
import type { Batch } from "./batch.ts"
import { type BatchLine, lineRequestId } from "./line.ts"
import { LineCalls } from "./line-calls.ts"
import { type LineOutcome, laterOf } from "./line-outcome.ts"
import { makeResults } from "./results.ts"

export interface AnswerLine {
  readonly batch: Batch
  readonly number: number
  readonly line: BatchLine
  /** Its caller as it is now, or the error that it gets. */
  readonly caller: Caller | ServiceError
  /** The reply of a vendor that is there already. */
  readonly given?: BatchMoney["given"]
  /** Failures of its part so far. */
  readonly failures: number
}

export const makeAnswerLine = Effect.gen(function* () {
  const calls = yield* LineCalls
  const results = yield* makeResults

  return Effect.fnUntraced(function* ({ batch, number, line, caller, given, failures }: AnswerLine) {
    if (line.refusal !== undefined) {
      yield* results.keep(batch, number, line.id, line.refusal)
      return { ...refused, status: line.refusal.status }
    }
    const reply =
      caller instanceof ServiceError
        ? calls.refused(line.path, caller)
        : yield* calls.run({
            ...line,
            caller: inBatch(caller, { ...batch.money, given }),
            tags: batch.facts.tags,
            requestId: lineRequestId(batch.id, batch.createdAt, number),
          })
    const outcome = laterOf(reply, failures)
    if (outcome.isAnswered) yield* results.keep(batch, number, line.id, reply)
    return { ...outcome, status: reply.status }
  })
})

const refused: LineOutcome = { isAnswered: true, pauseMs: 0, isFailed: false }
