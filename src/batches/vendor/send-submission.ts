/** Sends a submission to its vendor: its lines are written again, of what has no answer, and the vendor makes a batch of them. */
import { Effect, Result, type Scope, Stream } from "effect"
import type { SubmitStep, VendorBatch } from "../../dialects/batch-dialect.ts"
import { type Caller, inBatch } from "../../identity/caller.ts"
import type { MediaFile } from "../../media/media-file.ts"
import { Spool } from "../../media/spool.ts"
import type { Batch } from "../batch.ts"
import { BatchStore } from "../batch-store.ts"
import { requestIn } from "../line.ts"
import { LineCalls } from "../line-calls.ts"
import { ResultFile } from "../result-file.ts"
import type { PlacedLine, Requests } from "./requests.ts"
import { lineName, type Submission, sentAs } from "./submission.ts"
import { vendorLine } from "./vendor-line.ts"
import type { VendorPlace } from "./vendor-place.ts"

export type Sent =
  | { readonly t: "made"; readonly batch: VendorBatch }
  /** The vendor may have made a batch. */
  | { readonly t: "lost" }
  /** The vendor has made none, and is asked again later. */
  | { readonly t: "later"; readonly afterMs: number | undefined }
  /** The vendor runs none of it. @param why for the log */
  | { readonly t: "refused"; readonly why: unknown }
  /** Another node has it, or its batch begins nothing more. */
  | { readonly t: "left" }

/** The time that a step may take: it may send a large file. */
const stepMs = 10 * 60_000
/** Steps of one submission: a vendor that goes on reading a file is asked again later. */
const mostSteps = 100

export interface Sending {
  readonly submission: Submission
  readonly batch: Batch
  readonly caller: Caller
  readonly place: VendorPlace
  readonly requests: Requests
  /** Called before the vendor may make a batch. @returns false if it may not */
  readonly begins: (lines: number) => Effect.Effect<boolean, unknown>
}

export const makeSendSubmission = Effect.gen(function* () {
  const calls = yield* LineCalls
  const store = yield* BatchStore
  const spool = yield* Spool

  const write = Effect.fnUntraced(function* ({ submission, batch, caller, place, requests }: Sending) {
    const { orgId, batchId, first, lines, target, group } = submission
    const answered = new Set(yield* store.answered(orgId, batchId, first, lines))
    const { bounds, between } = place.dialect
    const file = new LineFile(new ResultFile(yield* spool.create, "lines.jsonl"), between)
    const asCalled = inBatch(caller, batch.money)

    const add = Effect.fnUntraced(function* (placed: PlacedLine) {
      if (answered.has(placed.number)) return
      const { path, body, refusal } = yield* requestIn(placed.text)
      // No money is held for it, even if it could run by now.
      if (refusal !== undefined) return
      const price = yield* calls.price({ caller: asCalled, tags: batch.facts.tags, path, body })
      if ("status" in price) return
      const line = yield* vendorLine(price, lineName(batchId, placed.number), target)
      if (line === undefined || line.group !== group) return
      const bytes = Buffer.byteLength(line.text) + between.length
      if (file.items + line.items > bounds.items || file.bytes + bytes > bounds.bytes) return
      yield* file.add(line.text, line.items)
    })
    yield* Stream.runForEach(requests.all, add)
    return file
  })

  const step = Effect.fnUntraced(function* (
    { place, begins }: Sending,
    next: Extract<SubmitStep, { readonly t: "ask" }>,
    lines: number,
  ): Effect.fn.Return<Sent | SubmitStep, unknown> {
    if (next.afterMs > 0) yield* Effect.sleep(next.afterMs)
    if (next.creates && !(yield* begins(lines))) return { t: "left" }
    const reply = yield* place.ask(next.request, stepMs)
    const mayBeMade = next.creates && (reply === undefined || reply.status < 300 || reply.status >= 500)
    if (reply === undefined) return mayBeMade ? { t: "lost" } : { t: "later", afterMs: undefined }
    const read = next.read(reply)
    if (Result.isSuccess(read)) return read.success
    if (mayBeMade) return { t: "lost" }
    const { blame, retryAfterMs } = read.failure
    return blame === "moment" ? { t: "later", afterMs: retryAfterMs } : { t: "refused", why: read.failure }
  })

  const send = Effect.fnUntraced(function* (sending: Sending): Effect.fn.Return<Sent, unknown, Scope.Scope> {
    const { submission, place } = sending
    const file = yield* write(sending)
    if (file.lines === 0) return { t: "refused", why: "none of its requests runs in a batch now" }
    const content: MediaFile = yield* file.content
    let next: Sent | SubmitStep = place.dialect.submit(sentAs(submission, file.lines), content)
    for (let steps = 0; next.t === "ask"; steps++) {
      if (steps === mostSteps) return { t: "later", afterMs: undefined }
      next = yield* step(sending, next, file.lines)
    }
    return next
  })

  return (sending: Sending): Effect.Effect<Sent, unknown> => Effect.scoped(send(sending))
})

/** The content of a submission while it is written. */
class LineFile {
  lines = 0
  items = 0
  bytes = 0
  readonly #file: ResultFile
  readonly #between: string

  constructor(file: ResultFile, between: string) {
    this.#file = file
    this.#between = between
  }

  add(text: string, items: number): Effect.Effect<void> {
    const written = this.lines === 0 ? text : this.#between + text
    this.lines++
    this.items += items
    this.bytes += Buffer.byteLength(written)
    return this.#file.addText(written)
  }

  get content(): Effect.Effect<MediaFile> {
    return this.#file.file
  }
}
