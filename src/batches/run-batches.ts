/**
 * Answers the requests of batches, in what calls leave of this node: parts of batches are taken under a lease, and each
 * request is a call of its own, made once by its request id. A part that a dead node has left is taken by another, which
 * asks for what has no answer yet.
 */
import { Effect, FiberSet, Layer, Semaphore } from "effect"
import { forAll, lookForWork, runEvery } from "../background.ts"
import { ClientFiles } from "../client-files/client-files.ts"
import type { PartLost } from "../client-files/file-parts.ts"
import { WeirConfig } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import { Callers } from "../identity/callers.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { requestsPurpose } from "./admit-batch.ts"
import { makeAnswerLine } from "./answer-line.ts"
import { type Batch, earlierCaller } from "./batch.ts"
import type { Chunk } from "./batch-rows.ts"
import { BatchStore } from "./batch-store.ts"
import { makeFinishBatch } from "./finish-batch.ts"
import { Leases } from "./leases.ts"
import { requestIn } from "./line.ts"
import { LineCalls } from "./line-calls.ts"
import type { LineOutcome } from "./line-outcome.ts"
import { makeSpareTime } from "./spare-time.ts"

const failedPauseMs = 2000
/** Batches whose results are written at once. */
const mostFinishing = 4

/** A batch and its caller as they are now; undefined if the batch is gone. */
type Current = Effect.Effect<
  { readonly batch: Batch; readonly caller: Caller | ServiceError } | undefined,
  StoreUnavailable
>

export const layerBatchRunner = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* BatchStore
    const calls = yield* LineCalls
    const callers = yield* Callers
    const files = yield* ClientFiles
    const answerLine = yield* makeAnswerLine
    const finish = yield* makeFinishBatch
    // The lease of a part: after it, another node takes the part of a node that died.
    const { batchCalls, leaseMs, checkpointMs } = yield* WeirConfig
    const leases = new Leases()
    const permits = yield* Semaphore.make(batchCalls)
    const spareTime = makeSpareTime()
    const chunks = yield* FiberSet.make<void>()
    const finishing = yield* FiberSet.make<void>()
    let isEnding = false
    /** Requests of the parts that this node has. */
    let inHand = 0
    // Calls that run are drained as all others; what waits for one is left to other nodes.
    yield* Effect.addFinalizer(() => {
      isEnding = true
      return FiberSet.awaitEmpty(chunks)
    })

    const answer = Effect.fnUntraced(function* (
      { failures }: Chunk,
      current: Current,
      { number, text }: { readonly number: number; readonly text: Buffer },
    ) {
      yield* spareTime
      const now = yield* current
      if (isEnding || now === undefined || isOver(now.batch)) return ended
      const { batch, caller } = now
      const line = yield* requestIn(text)
      return yield* answerLine({ batch, number, line, caller, failures })
    })

    const read = Effect.fnUntraced(function* ({ orgId, batchId }: Chunk) {
      const batch = yield* store.find(orgId, undefined, batchId)
      if (batch === undefined) return undefined
      const caller = yield* Effect.catchTag(callers.known(earlierCaller(batch)), "ServiceError", Effect.succeed)
      return { batch, caller }
    })

    const run = Effect.fnUntraced(function* (chunk: Chunk, lease: string) {
      const { orgId, batchId, first, lines } = chunk
      // It may be cancelled, and its caller disabled, while its requests wait.
      const current = yield* Effect.cachedWithTTL(read(chunk), "1 second")
      const { batch } = (yield* current) ?? {}
      const requests = batch?.facts.requests
      if (batch === undefined || requests === undefined) return
      const file = yield* files.find(orgId, batch.owner, requests, requestsPurpose)
      const content =
        file && (yield* Effect.catchTag(files.range(file, chunk.place, chunk.bytes), "PartLost", lostRequests))
      // They were erased, with their owner or by its operator: nothing can be asked, and the money goes back.
      if (content === undefined) {
        yield* store.cancel(orgId, batchId)
        return yield* store.chunkBack(chunk, lease, 0, false)
      }
      const answered = new Set(yield* store.answered(orgId, batchId, first, lines))
      const waiting = linesIn(content)
        .map((text, at) => ({ text, number: first + at }))
        .filter(({ number }) => !answered.has(number))
      // If the answer to one cannot be stored, calls for the others go on: their vendors would bill them twice.
      const outcomes = yield* forAll(waiting, (request) => permits.withPermit(answer(chunk, current, request)), {
        concurrency: "unbounded",
      })
      yield* giveBack(chunk, lease, outcomes)
    })

    const giveBack = Effect.fnUntraced(function* (chunk: Chunk, lease: string, outcomes: ReadonlyArray<LineOutcome>) {
      if (outcomes.every(({ isAnswered }) => isAnswered)) yield* store.chunkDone(chunk)
      const pauseMs = outcomes.reduce((longest, outcome) => Math.max(longest, outcome.pauseMs), 0)
      const isFailed = outcomes.some((outcome) => outcome.isFailed)
      if (pauseMs > 0 || outcomes.some(({ isAnswered }) => !isAnswered)) {
        yield* store.chunkBack(chunk, lease, pauseMs, isFailed)
      }
    })

    /** A part whose run fails is taken again later. */
    const runLeased = (chunk: Chunk, lease: string): Effect.Effect<void> => {
      inHand += chunk.lines
      return run(chunk, lease).pipe(
        Effect.catchCause((cause) =>
          Effect.andThen(
            Effect.logWarning("Requests of a batch could not be answered; they are asked again later", cause),
            Effect.ignore(store.chunkBack(chunk, lease, failedPauseMs, false)),
          ),
        ),
        Effect.ensuring(
          Effect.sync(() => {
            inHand -= chunk.lines
          }),
        ),
      )
    }

    const look = Effect.gen(function* () {
      const room = batchCalls - inHand
      if (isEnding || room <= 0 || !(yield* calls.hasRoom)) return true
      // A part that was taken is run, even if the node ends now.
      const lease = leases.newName()
      const taken = yield* Effect.uninterruptibleMask((restore) =>
        Effect.tap(restore(store.take(lease, room, leaseMs)), (taken) =>
          Effect.forEach(taken, (chunk) => FiberSet.run(chunks, leases.during(lease, runLeased(chunk, lease))), {
            discard: true,
          }),
        ),
      )
      return taken.length + inHand > 0
    })
    yield* lookForWork("250 millis", "Batches", look)

    const finishLeased = (batch: Batch, lease: string): Effect.Effect<void> =>
      Effect.catchCause(finish(batch, lease), (cause) =>
        Effect.logWarning("The results of a batch could not be written; it is tried again later", cause),
      )
    const lookForEnded = Effect.gen(function* () {
      const room = mostFinishing - (yield* FiberSet.size(finishing))
      if (isEnding || room <= 0) return true
      const lease = leases.newName()
      const ended = yield* store.toFinish(lease, room, leaseMs)
      yield* Effect.forEach(
        ended,
        (batch) => FiberSet.run(finishing, leases.during(lease, finishLeased(batch, lease))),
        { discard: true },
      )
      return ended.length + inHand > 0
    })
    yield* lookForWork("500 millis", "Results of batches", lookForEnded)

    const renew = Effect.suspend(() => forAll(leases.names, (lease) => store.renew(lease, leaseMs)))
    yield* runEvery(checkpointMs, "Leases of batches", renew)
  }),
)

const lostRequests = (lost: PartLost): Effect.Effect<undefined> =>
  Effect.as(Effect.logError("Requests of a batch are lost: it is cancelled", lost), undefined)

const newline = 10

/** A long line is not read as text here. */
const linesIn = (bytes: Buffer): ReadonlyArray<Buffer> => {
  const lines: Array<Buffer> = []
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(newline, from)
    const to = end === -1 ? bytes.length : end
    lines.push(bytes.subarray(from, to))
    from = to + 1
  }
  return lines
}

const isOver = ({ cancelledAt, endsAt }: Batch): boolean => cancelledAt !== undefined || endsAt.getTime() <= Date.now()

const ended: LineOutcome = { isAnswered: false, pauseMs: 0, isFailed: false }
