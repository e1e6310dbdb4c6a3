/**
 * A vendor's API of batches: pure translation, like {@link WholeDialect} for calls.
 *
 * **Details**: a submission is a list of lines, each an encoded request with an id that the gateway chose. `line` writes the
 * text of one; the texts of a submission, with `between` in between, are its content. `submit` sends it in steps. The
 * gateway's id of the submission goes along, so that `find` finds the batch if the answer was lost. `poll` and `status`
 * follow it; `result` reads one line of its results, which come in any order.
 *
 * **Gotchas**: a vendor answers a line once, twice or never, and by its id alone: a result without an id belongs to no line.
 * A batch of any state but `running` may have results. A vendor that accepted a cancellation may complete the batch
 * nevertheless: the next poll shows it.
 */
import type { Result } from "effect"
import type { MediaBody, MediaFile } from "../media/media-file.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"
import type { VendorFault } from "./vendor/faults.ts"
import type { ReplyHeaders } from "./whole-dialect.ts"
import type { AnyWireRequest, EncodeRefusal, WireRequest } from "./wire.ts"

/** The ids of lines and of submissions, in the form that all vendors take. */
export const batchIdForm = /^[A-Za-z0-9_-]{1,64}$/

/** The limits of one submission. */
export interface BatchBounds {
  /** The sum of the lines' `items`. */
  readonly items: number
  /** Bytes of its content. */
  readonly bytes: number
}

export interface BatchLine {
  /** The text, without a line break. */
  readonly text: string
  /** A submission has lines of one target and one group. */
  readonly group: string
  /** The items that the vendor counts: texts to embed, or 1. */
  readonly items: number
}

/** A submission, as the gateway knows it before and after it was sent. */
export interface Submission {
  /** The gateway's own id. */
  readonly id: string
  /** The group of its lines. */
  readonly group: string
  readonly lines: number
}

/** A batch at its vendor. */
export interface VendorBatch {
  /** The vendor's id. */
  readonly id: string
  /** The vendor's id of the file with its lines, if there is one and it is known. */
  readonly inputFile?: string | undefined
}

/** A reply to a step, read to its end. */
export interface StepReply {
  readonly status: number
  readonly headers: ReplyHeaders
  readonly body: string
}

/** The next request of a submission, or its end. */
export type SubmitStep =
  | {
      readonly t: "ask"
      /** Its body can be sent again. */
      readonly request: WireRequest<string | MediaBody>
      /** The time to wait before it is sent. */
      readonly afterMs: number
      /**
       * Whether the vendor may have made the batch although no answer came, or one that cannot be read, or one of status 5xx:
       * then it is looked for by `find`.
       */
      readonly creates: boolean
      readonly read: (reply: StepReply) => Result.Result<SubmitStep, VendorFault>
    }
  | { readonly t: "made"; readonly batch: VendorBatch }

/** A page of the vendor's list of batches. */
export interface FoundPage {
  readonly batches: ReadonlyArray<FoundBatch>
  /** The cursor of the next page; undefined if no batch of the submission can follow. */
  readonly next: string | undefined
}

export interface FoundBatch {
  readonly batch: VendorBatch
  /**
   * Whether it has the submission's id. A vendor that stores no ids lists batches of the same size and time: the ids in
   * their results prove which one it is.
   */
  readonly isSure: boolean
}

/** A location of results, in lines. */
export type ResultPlace =
  | { readonly t: "file"; readonly request: WireRequest }
  /** Lines that came with the status. */
  | { readonly t: "lines"; readonly lines: ReadonlyArray<string> }

/** The vendor's report of a batch. */
export interface BatchStatus {
  /** All states but `running` are ends; `failed`: the vendor refused it as a whole. */
  readonly state: "running" | "ended" | "failed" | "expired" | "cancelled"
  /** The vendor's name of a state that the dialect does not know; the batch counts as running. */
  readonly unknownState?: string | undefined
  /** The lines that it has done, as a vendor reports progress; undefined if it reports none. */
  readonly counts?: BatchCounts | undefined
  readonly results: ReadonlyArray<ResultPlace>
  /** The error of a batch that failed. */
  readonly fault?: VendorFault | undefined
  /** The lines, from 1, for which the vendor refused all of it. */
  readonly badLines: ReadonlyArray<{ readonly line: number; readonly fault: VendorFault }>
  /** The vendor's files with lines and results. */
  readonly files: ReadonlyArray<string>
}

/** Counts for people who wait: results and their lines are what is billed. */
export interface BatchCounts {
  readonly completed: number
  /** Lines that were refused, expired or cancelled. */
  readonly failed: number
}

/** One line of results. */
export type BatchResult =
  /** The vendor's reply, in the form of a reply to the request alone; a status from 400 on is read by `decodeError`. */
  | { readonly t: "answered"; readonly id: string; readonly status: number; readonly body: string }
  /** The request was not made. */
  | { readonly t: "expired" | "cancelled"; readonly id: string }
  | { readonly t: "errored"; readonly id: string; readonly fault: VendorFault }
  /** The line has no id that a line can have. */
  | { readonly t: "without_id" }
  /** The line is no JSON, e.g. because the file breaks off. */
  | { readonly t: "unreadable" }

/** A request as dialects encode it. */
export type BatchWire = AnyWireRequest | WireRequest<string | Uint8Array>

export interface BatchDialect {
  /** The kinds of calls that its lines may be. */
  readonly kinds: ReadonlyArray<ModelKind>
  readonly bounds: BatchBounds
  /** The text between two lines of a content. */
  readonly between: string
  /**
   * @param wire a request that does not stream, encoded for the target
   * @param id the gateway's id of the line, unique in its submission, see {@link batchIdForm}
   */
  readonly line: (wire: BatchWire, id: string) => Result.Result<BatchLine, EncodeRefusal>
  readonly submit: (submission: Submission, content: MediaFile) => SubmitStep
  /** Lists batches, the newest first. @param page the cursor of the page before */
  readonly find: (submission: Submission, page?: string) => WireRequest
  /**
   * @param body the text of the reply
   * @param sinceMs the time before which the submission was not sent
   * @param page the cursor that {@link find} had
   */
  readonly found: (body: string, submission: Submission, sinceMs: number, page?: string) => FoundPage | undefined
  readonly poll: (batch: VendorBatch) => WireRequest
  /** @param body the text of the reply; it may contain all results */
  readonly status: (body: string, batch: VendorBatch) => BatchStatus | undefined
  readonly result: (line: string) => BatchResult
  readonly cancel: (batch: VendorBatch) => WireRequest
  /** Removes the vendor's copies of a batch that has ended; each request may fail without harm. */
  readonly removals: (batch: VendorBatch, status: BatchStatus) => ReadonlyArray<WireRequest>
}
