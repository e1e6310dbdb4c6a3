/**
 * The part that twins of vendors' APIs of batches share: the course of a batch by a plan, and results that come as no client
 * would like them.
 *
 * **Details**: a batch runs for some polls, then it ends as its plan says. A cancellation ends it at the next poll; if the plan
 * has it race completion, all lines were answered before. Half of the lines of a batch that expired or was cancelled have
 * answers. The plan decides for each line otherwise.
 *
 * **Example**
 *
 * ```ts
 * const batches = makeOpenaiBatches(repeating)
 * const vendor = yield* startScriptedVendor(serveBatches(batches, serveTwin(openaiTwin, repeating)))
 * batches.plan({ lostCreates: 1, order: "reversed" })
 * ```
 */
import { writeJson } from "../../protocol/json/json-text.ts"
import type { VendorCall, VendorScript } from "../scripted-vendor.ts"
import { completed, type Twin, type TwinCall, type TwinScript } from "./twin.ts"

/** The fate of a line. `twice` is answered two times, `missing` not at all; `without_id` lacks its id. */
export type LineOutcome = "answered" | "refused" | "expired" | "cancelled" | "twice" | "missing" | "without_id"

export interface BatchPlan {
  /** Polls that report the batch as running. */
  readonly polls: number
  readonly end: "completed" | "expired" | "failed"
  /** The outcome of a line; undefined for the one that follows from the batch's end. */
  readonly outcome: (id: string, at: number) => LineOutcome | undefined
  readonly order: "input" | "reversed"
  /** Batches that are made, but whose answer is lost. */
  readonly lostCreates: number
  /** Reads of results that end early. */
  readonly brokenReads: number
  /** Bytes of a read that ends early, and whether the connection is reset then. */
  readonly breaksAfter: { readonly bytes: number; readonly resets: boolean }
  /** Whether a cancellation comes too late although it is accepted. */
  readonly cancelRaces: boolean
  /** Whether results come with the batch, at vendors where they can. */
  readonly inline: boolean
}

const usualPlan: BatchPlan = {
  polls: 1,
  end: "completed",
  outcome: () => undefined,
  order: "input",
  lostCreates: 0,
  brokenReads: 0,
  breaksAfter: { bytes: 0, resets: true },
  cancelRaces: false,
  inline: false,
}

export interface BatchTwin {
  /** Serves a request of the API of batches. @returns undefined if it is one of another API */
  readonly serve: (call: VendorCall) => Promise<void> | undefined
  /** Changes the plan of batches, those that run included. */
  readonly plan: (change: Partial<BatchPlan>) => void
  /** The ids of the vendor's batches. */
  readonly batches: () => ReadonlyArray<string>
  /** The ids of the vendor's files. */
  readonly files: () => ReadonlyArray<string>
}

/** Serves a vendor that has batches beside another API. */
export const serveBatches =
  (batches: BatchTwin, otherwise: VendorScript): VendorScript =>
  (call) =>
    batches.serve(call) ?? otherwise(call)

export interface TwinLine {
  readonly id: string
  readonly body: TwinCall["body"]
}

export interface LineAnswer {
  readonly line: TwinLine
  readonly outcome: LineOutcome
}

/** The plan of a twin, which tests change while it runs. */
export class PlanBook {
  #plan: BatchPlan = usualPlan

  get now(): BatchPlan {
    return this.#plan
  }

  readonly change = (change: Partial<BatchPlan>): void => {
    this.#plan = { ...this.#plan, ...change }
  }

  /** Takes one of the times that the plan has for something. */
  takes(name: "lostCreates" | "brokenReads"): boolean {
    const left = this.#plan[name]
    if (left > 0) this.change({ [name]: left - 1 })
    return left > 0
  }
}

type End = "completed" | "expired" | "failed" | "cancelled"

/** The course of one batch. */
export class BatchRun {
  readonly lines: ReadonlyArray<TwinLine>
  readonly #book: PlanBook
  readonly #isOverdue: () => boolean
  #polls = 0
  #end: End | undefined
  isCancelling = false

  /** @param isOverdue whether its window is over */
  constructor(lines: ReadonlyArray<TwinLine>, book: PlanBook, isOverdue: () => boolean) {
    this.lines = lines
    this.#book = book
    this.#isOverdue = isOverdue
  }

  /** Its end; undefined while it runs. */
  get end(): End | undefined {
    return this.#end
  }

  /** Moves on by one poll. @returns its end */
  poll(): End | undefined {
    this.#polls++
    if (this.#end !== undefined) return this.#end
    const { polls, end, cancelRaces } = this.#book.now
    if (this.isCancelling) this.#end = cancelRaces ? "completed" : "cancelled"
    else if (this.#isOverdue()) this.#end = "expired"
    else if (this.#polls > polls) this.#end = end
    return this.#end
  }

  fail(): void {
    this.#end = "failed"
  }

  /** Asks for its end. @returns whether it still ran */
  cancel(): boolean {
    if (this.#end !== undefined) return false
    this.isCancelling = true
    return true
  }

  /** The lines with their outcomes, in the order of the results. */
  answers(): ReadonlyArray<LineAnswer> {
    const { order, outcome } = this.#book.now
    const half = Math.ceil(this.lines.length / 2)
    const answers = this.lines.map((line, at) => ({ line, outcome: outcome(line.id, at) ?? this.#usual(at < half) }))
    return order === "reversed" ? answers.reverse() : answers
  }

  #usual(isEarly: boolean): LineOutcome {
    if (this.#end === "expired" || this.#end === "cancelled") return isEarly ? "answered" : this.#end
    return "answered"
  }
}

/** The lines of a file; those without content are left out. */
export const linesOf = (content: string): ReadonlyArray<string> =>
  content.split("\n").filter((line) => line.trim() !== "")

/** The texts of results: one that is answered twice is there twice, a missing one is not. */
export const resultTexts = (
  answers: ReadonlyArray<LineAnswer>,
  write: (answer: LineAnswer, id: string | undefined) => object,
): ReadonlyArray<string> =>
  answers.flatMap((answer) => {
    const { line, outcome } = answer
    if (outcome === "missing") return []
    const text = writeJson(write(answer, outcome === "without_id" ? undefined : line.id))
    return outcome === "twice" ? [text, text] : [text]
  })

/** The address of a call. Google's SDK writes two slashes after an address without a path. */
export const placeOf = ({ path }: VendorCall): URL => new URL(`http://twin${path.replace(/^\/\//, "/")}`)

export interface WholeAnswer {
  readonly status: number
  readonly body: object
}

/** The answer of a twin to the request of a line. */
export const answerOf = (twin: Twin, script: TwinScript, call: TwinCall): WholeAnswer => {
  const refusal = twin.refuse(call)
  if (refusal !== undefined) return refusal
  const asked = twin.asked(call)
  return { status: 200, body: twin.whole(completed(asked, script(asked))) }
}

export const sendJson = async (call: VendorCall, status: number, body: object, headers = {}): Promise<void> => {
  call.head(status, { "content-type": "application/json", ...headers })
  call.end(writeJson(body))
}

/** Sends results, or their beginning if the plan says so. */
export const sendLines = async (call: VendorCall, contentType: string, text: string, book: PlanBook): Promise<void> => {
  const breaks = book.takes("brokenReads") ? book.now.breaksAfter : undefined
  call.head(200, { "content-type": contentType })
  await call.write(Buffer.from(text).subarray(0, breaks?.bytes))
  if (breaks?.resets !== true) return call.end()
  // The bytes are sent before the connection is reset.
  await call.wait(20)
  call.reset()
}

/** The page of a list that follows an entry, and whether more follow. */
export const pageAfter = <A extends { readonly id: string }>(
  all: ReadonlyArray<A>,
  after: string | null,
  limit: number,
): { readonly page: ReadonlyArray<A>; readonly hasMore: boolean } => {
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
  const page = all.slice(from, from + limit)
  return { page, hasMore: from + limit < all.length }
}
