/**
 * Gives the results of a vendor's batch to its requests: each is an ordinary call whose reply is there already. A result belongs
 * to the request that it names, and the first one counts.
 */
import { Effect, Semaphore, Stream } from "effect"
import { WeirConfig } from "../../config.ts"
import type { BatchResult, ResultPlace } from "../../dialects/batch-dialect.ts"
import type { Caller } from "../../identity/caller.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { makeAnswerLine } from "../answer-line.ts"
import type { Batch } from "../batch.ts"
import { BatchStore } from "../batch-store.ts"
import { isNone } from "../line-outcome.ts"
import type { Requests } from "./requests.ts"
import { resultsIn } from "./results-in.ts"
import { lineOfName, type Submission } from "./submission.ts"
import type { VendorPlace } from "./vendor-place.ts"

/** The results after one reading. */
export interface Given {
  /** Lines that have an answer now. */
  readonly answered: ReadonlySet<number>
  /** Whether a file broke off. */
  readonly isBroken: boolean
  /** Lines that the vendor has answered, and that the gateway could not settle now. */
  readonly postponed: number
  /** Lines that no result names. */
  readonly missing: number
}

interface Giving {
  readonly submission: Submission
  readonly batch: Batch
  readonly caller: Caller | ServiceError
  readonly place: VendorPlace
  readonly requests: Requests
}

type Answered = Extract<BatchResult, { readonly t: "answered" }>

export const makeGiveResults = Effect.gen(function* () {
  const store = yield* BatchStore
  const answerLine = yield* makeAnswerLine
  const { batchCalls } = yield* WeirConfig
  const permits = yield* Semaphore.make(batchCalls)

  /** @returns whether the request has its answer now, or its reply is read again later */
  const answer = Effect.fnUntraced(function* (
    { submission, batch, caller, requests }: Giving,
    number: number,
    { status, body }: Answered,
  ) {
    const line = yield* requests.line(number)
    const { target, vendor, targetModel, isOwn } = submission
    const given = { target, vendor, targetModel, isOwn, status, body }
    const outcome = yield* answerLine({ batch, number, line, caller, given, failures: 0 })
    if (outcome.isAnswered) return "answered"
    // A reply that failed at the vendor is none; one that the gateway could not take now is taken later.
    return status >= 400 || isNone(outcome.status, submission.reads) ? "failed" : "postponed"
  })

  return Effect.fnUntraced(function* (
    giving: Giving,
    places: ReadonlyArray<ResultPlace>,
  ): Effect.fn.Return<Given, unknown> {
    const { submission, place } = giving
    const { orgId, batchId, first, lines } = submission
    const answered = new Set(yield* store.answered(orgId, batchId, first, lines))
    const named = new Set<number>()
    let isBroken = false
    let postponed = 0
    const give = Effect.fnUntraced(function* (result: BatchResult) {
      const number = "id" in result ? lineOfName(submission, result.id) : undefined
      if (number === undefined || named.has(number)) return
      named.add(number)
      if (answered.has(number) || result.t !== "answered") return
      const outcome = yield* permits.withPermit(answer(giving, number, result))
      if (outcome === "answered") answered.add(number)
      else if (outcome === "postponed") postponed++
    })
    yield* resultsIn(place, places).pipe(
      Stream.catch((cause) => {
        isBroken = true
        return Stream.drain(Stream.fromEffect(Effect.logWarning("Results of a batch broke off", cause)))
      }),
      Stream.mapEffect(give, { concurrency: batchCalls, unordered: true }),
      Stream.runDrain,
    )
    const missing = lines - new Set([...named, ...answered]).size
    return { answered, isBroken, postponed, missing }
  })
})
