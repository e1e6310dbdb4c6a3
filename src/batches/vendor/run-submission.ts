/** One look at a submission: it is sent, looked for, followed or ended, as its state and its vendor say. */
import { Effect, Match } from "effect"
import { pollAfter } from "../../background.ts"
import type { BatchStatus, VendorBatch } from "../../dialects/batch-dialect.ts"
import { Callers } from "../../identity/callers.ts"
import { ServiceError } from "../../protocol/error.ts"
import { type Batch, earlierCaller } from "../batch.ts"
import { BatchStore } from "../batch-store.ts"
import { findSubmission } from "./find-submission.ts"
import { makeGiveResults } from "./give-results.ts"
import { makeRequests } from "./requests.ts"
import { makeSendSubmission } from "./send-submission.ts"
import { namesOf, type Submission } from "./submission.ts"
import { type Next, SubmissionStore } from "./submission-store.ts"
import { makeVendorPlaces, type VendorPlace } from "./vendor-place.ts"

/** The time until the next look at a submission. */
const lookAfter = (polls: number): number => pollAfter(polls, longestPollMs, Math.random())
const longestPollMs = 60_000

/** Times that a vendor is asked to take a submission, before the gateway answers it itself. */
const mostSends = 8
/** Times that results are read which break off. */
const mostBroken = 8
const cancelPollMs = 1000
/** The time until a submission is looked at again whose batch this node cannot read. */
const unreadableMs = 1000

export const makeRunSubmission = Effect.gen(function* () {
  const store = yield* SubmissionStore
  const batches = yield* BatchStore
  const callers = yield* Callers
  const placeOf = yield* makeVendorPlaces
  const requestsOf = yield* makeRequests
  const send = yield* makeSendSubmission
  const giveResults = yield* makeGiveResults

  return Effect.fnUntraced(function* (submission: Submission, node: string): Effect.fn.Return<void, unknown> {
    const found = yield* batches.find(submission.orgId, undefined, submission.batchId)
    // A node with another master key reads it, while keys are rotated.
    if (found === undefined && !submission.isGivenUp) return yield* store.back(submission, node, unreadableMs)
    if (found === undefined || found.endedAt !== undefined)
      return yield* Effect.asVoid(store.done(submission, node, []))
    const batch: Batch = found
    const requests = yield* requestsOf(submission, batch)
    const place = yield* placeOf(submission)
    const { state, polls, reads } = submission

    const goOn = (next: Partial<Next> = {}) =>
      // The store counts the look: -1 begins from the first.
      store.goesOn(submission, node, {
        ...{ state, polls, reads, isCancelled: submission.isCancelled, vendorBatch: submission.vendorBatch },
        afterMs: lookAfter(polls),
        ...next,
      })

    /** The gateway answers what has no answer. */
    const end = Effect.gen(function* () {
      const { orgId, batchId, first, lines } = submission
      const answered = new Set(yield* batches.answered(orgId, batchId, first, lines))
      const isWhole = answered.size === lines || submission.isOver || requests === undefined
      const rest = isWhole ? [] : yield* requests.rest(answered)
      return yield* store.done(submission, node, rest)
    })

    /** A vendor that has not ended its batch long after the gateway's is waited for no more. */
    const goOnOrGiveUp = (next: Partial<Next> = {}): Effect.Effect<unknown, unknown> =>
      submission.isGivenUp
        ? Effect.andThen(
            Effect.logError("A vendor did not end a batch that ran out of time, and may bill it", namesOf(submission)),
            end,
          )
        : goOn(next)

    const wait = Effect.gen(function* () {
      if (submission.isOver || place === undefined || requests === undefined) return yield* end
      const caller = yield* callerOf(batch)
      if (caller instanceof ServiceError) return yield* end
      const begins = (lines: number) => store.sends(submission, node, lines)
      const sent = yield* send({ submission, batch, caller, place, requests, begins })
      return yield* Match.value(sent).pipe(
        Match.discriminatorsExhaustive("t")({
          made: (made) => goOn({ state: "running", polls: -1, vendorBatch: made.batch, afterMs: lookAfter(0) }),
          lost: () => goOn({ state: "sending", polls: -1, afterMs: 0 }),
          later: ({ afterMs = 0 }) =>
            polls + 1 >= mostSends
              ? Effect.andThen(logRefused("its vendor did not take it"), end)
              : goOn({ state: "waiting", afterMs: Math.max(afterMs, lookAfter(polls)) }),
          refused: ({ why }) => Effect.andThen(logRefused(why), end),
          left: () => goOn({ afterMs: 0 }),
        }),
      )
    })

    const logRefused = (why: unknown) =>
      Effect.logWarning("A vendor does not run a batch; the gateway answers its requests", namesOf(submission), why)

    const look = Effect.gen(function* () {
      if (place === undefined) return yield* goOnOrGiveUp()
      const found = yield* findSubmission(submission, place)
      if (found.t === "found") return yield* goOn({ state: "running", polls: -1, vendorBatch: found.batch, afterMs: 0 })
      if (found.t === "none" && submission.isLongSent) return yield* goOn({ state: "waiting", polls: -1, afterMs: 0 })
      return yield* goOnOrGiveUp()
    })

    const follow = Effect.fnUntraced(function* (vendorBatch: VendorBatch) {
      if (place === undefined) return yield* goOnOrGiveUp()
      const reply = yield* place.ask(place.dialect.poll(vendorBatch))
      if (reply?.status === 404) {
        return yield* Effect.andThen(logRefused(place.decodeError(reply.status, reply.body)), end)
      }
      const status = reply?.status === 200 ? place.dialect.status(reply.body, vendorBatch) : undefined
      if (status === undefined) return yield* goOnOrGiveUp()
      if (status.unknownState !== undefined) {
        yield* Effect.logWarning(
          "A vendor reports an unknown state of a batch; it counts as running",
          status.unknownState,
        )
      }
      if (status.state !== "running") return yield* close(place, vendorBatch, status)
      // The answers of a caller that may make no requests any more are refusals, and its vendor's are not billed.
      const isWanted = !submission.isOver && !((yield* callerOf(batch)) instanceof ServiceError)
      if (isWanted || submission.isCancelled) return yield* goOnOrGiveUp()
      // An accepted request to cancel is no proof: the next look reads whether the vendor has ended it.
      const cancelled = yield* place.ask(place.dialect.cancel(vendorBatch))
      const isTaken = cancelled !== undefined && cancelled.status < 500 && cancelled.status !== 429
      return yield* goOnOrGiveUp({ isCancelled: isTaken, afterMs: cancelPollMs })
    })

    const close = Effect.fnUntraced(function* (place: VendorPlace, vendorBatch: VendorBatch, status: BatchStatus) {
      if (status.fault !== undefined) yield* logRefused(status.fault)
      if (requests !== undefined) {
        const caller = yield* callerOf(batch)
        const given = yield* giveResults({ submission, batch, caller, place, requests }, status.results)
        const isRead = status.state === "failed" || given.answered.size === submission.lines
        // Results that are not all there may be later.
        const isAgain = given.isBroken ? reads < mostBroken : given.missing > 0 && reads < 1 && submission.sentLines > 0
        if (given.postponed > 0 || (!isRead && isAgain)) return yield* goOnOrGiveUp({ reads: reads + 1 })
      }
      if (!(yield* end)) return
      yield* Effect.forEach(place.dialect.removals(vendorBatch, status), (wire) => place.ask(wire), { discard: true })
    })

    const callerOf = (of: Batch) => Effect.catchTag(callers.known(earlierCaller(of)), "ServiceError", Effect.succeed)

    // They were erased, with their owner or by its operator: no result has a request any more, and the money goes back.
    if (requests === undefined && !submission.isOver) {
      yield* batches.cancel(submission.orgId, submission.batchId)
      return yield* Effect.asVoid(goOn({ afterMs: 0 }))
    }
    if (state === "waiting") return yield* Effect.asVoid(wait)
    const { vendorBatch } = submission
    return yield* Effect.asVoid(state === "running" && vendorBatch !== undefined ? follow(vendorBatch) : look)
  })
})
