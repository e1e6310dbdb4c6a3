/**
 * The admission of a batch: each request is read, checked and priced, and their sum is held, before anything is asked. The
 * requests are copied into a file of the gateway's own, so that the client's may be erased meanwhile.
 */
import { Effect, type Result, type Scope } from "effect"
import { Calls, newRequestId } from "../calls/calls.ts"
import { reserve } from "../calls/settle/reserve.ts"
import type { ClientFile } from "../client-files/client-file.ts"
import { ClientFiles } from "../client-files/client-files.ts"
import { newFileId } from "../client-files/file-id.ts"
import { EventLoopBudget } from "../event-loop-budget.ts"
import { type Caller, inBatch } from "../identity/caller.ts"
import { ownerOf } from "../kept-responses/kept-response.ts"
import { Spool } from "../media/spool.ts"
import { formatAmount } from "../money/amount.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { dayMs } from "../protocol/values/instant.ts"
import { dayOf } from "../protocol/values/utc8.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Batch, BatchApi, BatchFacts, NewBatch, Problem } from "./batch.ts"
import { BatchStore } from "./batch-store.ts"
import { CopiedRequests } from "./copied-requests.ts"
import { type BatchLine, writeLine } from "./line.ts"
import { LineCalls, type LinePrice, type LineReply } from "./line-calls.ts"
import { priceLine } from "./price-line.ts"
import { lineName } from "./vendor/submission.ts"
import { vendorLine } from "./vendor/vendor-line.ts"

/** A request of a batch as its client sent it, or its fault. */
export type SentLine = { readonly number: number } & (
  | { readonly line: BatchLine }
  | { readonly problem: Omit<Problem, "line"> }
)

interface AskedAs {
  readonly request: string
  readonly hash: string
}

export interface BatchAsked {
  readonly caller: Caller
  readonly api: BatchApi
  readonly lines: AsyncIterable<SentLine>
  /** The fault of a request that its route refuses; undefined if that is the answer to this request alone. */
  readonly problemOf: (line: BatchLine, refusal: LineReply) => Omit<Problem, "line"> | undefined
  /** Whether the first fault refuses the request for the batch; otherwise the batch has failed, and has all its faults. */
  readonly refuses: boolean
  /** Reads what else was sent, once the requests were read. */
  readonly rest?: () => Result.Result<Partial<BatchFacts>, ServiceError>
  readonly mostLines: number
  readonly windowMs: number
  /** The request id of its client, and the hash of its request: made again, it is the same batch. */
  readonly asked: AskedAs | undefined
  readonly facts: Omit<BatchFacts, "requests">
}

/** The purpose of the gateway's own files with the requests of batches. */
export const requestsPurpose = ".batch"

/** The time for which clients see a batch. */
export const keptMs = 30 * dayMs
/** Batches of one organisation that have not ended. */
const mostOpen = 1000
/** Faults of one batch that its client sees. */
const mostProblems = 100
/** Bytes of requests that wait in memory to be written. */
const flushBytes = 256 * 1024
/** Bytes of requests that are read and priced in one turn of the event loop, and those that a request counts beside its own. */
const turn = new EventLoopBudget(32 * 1024)
const lineCost = 2048
/** The time for which the requests are kept after the window, if nobody could erase them. */
const afterWindowMs = 2 * dayMs

/** The ids of batches have this length. */
const longestId = "a".repeat(26)

type AdmitError = ServiceError | StoreUnavailable

export const makeAdmitBatch = Effect.gen(function* () {
  const { services } = yield* Calls
  const calls = yield* LineCalls
  const files = yield* ClientFiles
  const spool = yield* Spool
  const store = yield* BatchStore

  /** Notes whether a request runs at a vendor. The name of its line is as long as any. */
  const plan = Effect.fnUntraced(function* (
    { vendor, lines, place }: CopiedRequests,
    bytes: number,
    price: LinePrice | LineReply,
  ) {
    if (!vendor.isPossible) return
    const number = lines + 1
    const line = "status" in price ? "refused" : yield* vendorLine(price, lineName(longestId, number))
    vendor.add({ number, place, bytes }, line)
  })

  const copy = Effect.fnUntraced(function* (asked: BatchAsked) {
    const writer = yield* Effect.mapError(spool.create, () => noDisk)
    const copied = new CopiedRequests(services.nowMs())
    // At the price of batches.
    const { pricedAtMs } = copied
    const asCalled = inBatch(asked.caller, { id: "", day: dayOf(pricedAtMs), pricedAtMs })
    let unwritten = 0
    const flush = Effect.mapError(
      Effect.tryPromise(() => writer.flush()),
      () => noDisk,
    )
    const lines = asked.lines[Symbol.asyncIterator]()
    yield* Effect.addFinalizer(() => Effect.promise(async () => void (await lines.return?.())))
    const most = asked.refuses ? 1 : mostProblems
    while (copied.problems.length < most) {
      const next = yield* Effect.promise(() => lines.next())
      if (next.done === true) break
      const sent = next.value
      if ("problem" in sent) {
        copied.refuse({ ...sent.problem, line: sent.number })
        continue
      }
      if (copied.lines >= asked.mostLines) {
        copied.refuse(tooMany(asked.mostLines))
        break
      }
      if (!copied.isNew(sent.line.id)) {
        copied.refuse({ ...duplicate(sent.line.id), line: sent.number })
        continue
      }
      const { path, body } = sent.line
      const priced = yield* priceLine(calls, { caller: asCalled, tags: asked.facts.tags, path, body })
      const later = turn.take(body.length + lineCost)
      if (later !== undefined) yield* Effect.promise(() => later)
      if ("status" in priced) {
        const problem = asked.problemOf(sent.line, priced)
        if (problem !== undefined) {
          copied.refuse({ ...problem, line: sent.number })
          continue
        }
      }
      const refusal = "status" in priced ? priced : undefined
      const parts = writeLine({ ...sent.line, refusal })
      const bytes = parts.reduce((sum, { length }) => sum + length, 0)
      for (const part of parts) {
        for (let from = 0; from < part.length; from += flushBytes) {
          const slice = part.subarray(from, from + flushBytes)
          writer.add(slice)
          unwritten += slice.length
          if (unwritten < flushBytes) continue
          yield* flush
          unwritten = 0
        }
      }
      yield* plan(copied, bytes, priced)
      copied.add(bytes, "status" in priced ? undefined : priced)
    }
    yield* flush
    return { copied, file: writer.file() }
  })

  /** A batch of which nothing is asked. */
  const failed = (asked: BatchAsked, problems: ReadonlyArray<Problem>): NewBatch => ({
    ...named(asked),
    state: "failed",
    lines: 0,
    held: "0",
    facts: asked.facts,
    outcome: { problems },
    chunks: [],
  })

  const named = ({ caller, api, windowMs, asked }: BatchAsked) => {
    const nowMs = services.nowMs()
    return {
      orgId: caller.org.id,
      id: newFileId(nowMs),
      owner: ownerOf(caller),
      keyId: caller.keyId,
      api,
      currency: caller.org.currency,
      money: { day: dayOf(nowMs) },
      windowMs,
      keptMs,
      request: asked?.request,
    }
  }

  /** Holds the sum, and moves it to the batch in the commit that begins it. */
  const begin = Effect.fnUntraced(function* (asked: BatchAsked, copied: CopiedRequests, requests: ClientFile) {
    // The money is the organisation's until it is the batch's.
    const caller = { ...asked.caller, tags: copied.tags }
    const held = yield* reserve(services, {
      ref: newRequestId(),
      caller,
      requestId: undefined,
      currency: caller.org.currency,
      amount: copied.amount,
      tokens: copied.tokens,
      nowMs: services.nowMs(),
    })
    const { hold } = held
    const [model, ...others] = copied.models
    const submissions = copied.vendor.submissions()
    const batch: NewBatch = {
      ...named(asked),
      state: "in_progress",
      lines: copied.lines,
      held: formatAmount(copied.amount),
      money: {
        day: hold.day,
        budgets: (hold.budgets ?? []).map(({ counter, unit }) => ({ counter, unit })),
      },
      facts: {
        ...asked.facts,
        requests: requests.id,
        pricedAtMs: copied.pricedAtMs,
        ...(model !== undefined && others.length === 0 && asked.facts.model === undefined && { model }),
      },
      outcome: undefined,
      chunks: submissions === undefined ? copied.chunks : [],
      submissions,
    }
    const isMoved = yield* services.ledger.handOver(hold, (node, needs) => store.begin(batch, node, needs))
    // Another request with its id was faster.
    if (!isMoved) {
      yield* services.ledger.release(hold)
      yield* Effect.ignore(files.erase(requests))
    }
    return batch.id
  }, Effect.uninterruptible)

  const admitted = Effect.fnUntraced(function* (sent: BatchAsked): Effect.fn.Return<string, AdmitError, Scope.Scope> {
    const { caller } = sent
    if ((yield* store.open(caller.org.id)) >= mostOpen) return yield* tooManyOpen
    yield* files.isKept
    const { copied, file } = yield* copy(sent)
    if (copied.lines === 0 && copied.problems.length === 0) copied.refuse(empty)
    const [problem] = copied.problems
    if (problem !== undefined && sent.refuses) {
      return yield* invalidInput([{ path: problem.param ?? "", message: problem.message }])
    }
    const rest = sent.rest === undefined ? {} : yield* Effect.fromResult(sent.rest())
    const hash = sent.asked && { hash: sent.asked.hash }
    const asked = { ...sent, facts: { ...sent.facts, ...rest, ...hash } }
    if (problem !== undefined) {
      const batch = failed(asked, copied.problems)
      yield* store.begin(batch, undefined, [])
      return batch.id
    }
    const content = { mime: "application/jsonl", name: "requests.jsonl", file }
    const kept = { purpose: requestsPurpose, keptMs: asked.windowMs + afterWindowMs, content }
    const requests = yield* files.create(caller.org.id, ownerOf(caller), kept)
    return yield* begin(asked, copied, requests).pipe(
      // If the database does not answer, the batch may have begun.
      Effect.tapErrorTag("ServiceError", () => Effect.ignore(files.erase(requests))),
    )
  })

  /** The batch of an earlier request with the same id. */
  const madeBefore = Effect.fnUntraced(function* ({ caller, api, asked }: BatchAsked) {
    if (asked === undefined) return undefined
    const batch = yield* store.byRequest(caller.org.id, caller.keyId, asked.request)
    if (batch === undefined) return undefined
    const isSame = batch.api === api && batch.facts.hash === asked.hash && isOwnedBy(batch, caller)
    return isSame ? batch : yield* otherRequest
  })

  /** Begins a batch. One with a fault has failed from the beginning. */
  return Effect.fnUntraced(function* (asked: BatchAsked): Effect.fn.Return<Batch, AdmitError> {
    const earlier = yield* madeBefore(asked)
    if (earlier !== undefined) return earlier
    const id = yield* Effect.scoped(admitted(asked))
    const { org } = asked.caller
    const batch = (yield* store.find(org.id, ownerOf(asked.caller), id)) ?? (yield* madeBefore(asked))
    return batch ?? (yield* lost)
  })
})

const empty: Problem = { code: "empty_batch", message: "The batch has no requests." }
const duplicate = (id: string) => ({
  code: "duplicate_custom_id",
  message: `The custom_id '${id.slice(0, 64)}' is used by an earlier request of this batch.`,
  param: "custom_id",
})
const tooMany = (most: number): Problem => ({
  code: "too_many_tasks",
  message: `The batch has more than ${most} requests.`,
})
const tooManyOpen = serviceError("rate_limited", `The organisation has ${mostOpen} batches that have not ended`, {
  retryAfterMs: 60_000,
})
const noDisk = serviceError("internal_error", "The requests could not be stored now", { retryAfterMs: 1000 })
const isOwnedBy = ({ owner }: Batch, caller: Caller): boolean => {
  const { app, person, endUser } = ownerOf(caller)
  return owner.app === app && owner.person === person && owner.endUser === endUser
}

const otherRequest = serviceError("idempotency_conflict", "The Idempotency-Key was used for another batch")
const lost = serviceError("internal_error", "The batch could not be read")
