/**
 * Finds the batch that a vendor made of a submission, if the answer was lost. A vendor that stores no ids of ours lists batches
 * of the same size and time: the names in their results prove which one it is.
 */
import { Effect, Stream } from "effect"
import type { VendorBatch } from "../../dialects/batch-dialect.ts"
import { resultsIn } from "./results-in.ts"
import { lineOfName, type Submission, sentAs } from "./submission.ts"
import type { VendorPlace } from "./vendor-place.ts"

export type Found =
  | { readonly t: "found"; readonly batch: VendorBatch }
  /** Nothing can be said now: the vendor does not answer, or a batch that may be it has no results yet. */
  | { readonly t: "unknown" }
  | { readonly t: "none" }

const mostPages = 1000

export const findSubmission = Effect.fnUntraced(function* (
  submission: Submission,
  place: VendorPlace,
): Effect.fn.Return<Found> {
  const { dialect } = place
  const sent = sentAs(submission, submission.sentLines)
  const sinceMs = submission.sentAt?.getTime() ?? 0
  const candidates: Array<VendorBatch> = []
  let page: string | undefined
  for (let pages = 0; pages < mostPages; pages++) {
    const reply = yield* place.ask(dialect.find(sent, page))
    const found = reply?.status === 200 ? dialect.found(reply.body, sent, sinceMs, page) : undefined
    if (found === undefined) return unknown
    const sure = found.batches.find(({ isSure }) => isSure)
    if (sure !== undefined) return { t: "found", batch: sure.batch }
    candidates.push(...found.batches.map(({ batch }) => batch))
    page = found.next
    if (page === undefined) return yield* ownOf(submission, place, candidates)
  }
  return unknown
})

const unknown: Found = { t: "unknown" }

/** The candidate whose results have names of the submission's lines. */
const ownOf = Effect.fnUntraced(function* (
  submission: Submission,
  place: VendorPlace,
  candidates: ReadonlyArray<VendorBatch>,
): Effect.fn.Return<Found> {
  let isOpen = false
  for (const batch of candidates) {
    const reply = yield* place.ask(place.dialect.poll(batch))
    const status = reply?.status === 200 ? place.dialect.status(reply.body, batch) : undefined
    if (status === undefined || status.state === "running") {
      isOpen = true
      continue
    }
    const named = yield* Effect.option(
      Stream.runHead(Stream.filter(resultsIn(place, status.results), (result) => "id" in result)),
    )
    if (named._tag === "None") isOpen = true
    else if (named.value._tag === "Some" && "id" in named.value.value) {
      if (lineOfName(submission, named.value.value.id) !== undefined) return { t: "found", batch }
    }
  }
  return isOpen ? unknown : { t: "none" }
})
