/** The work of the vendor calls of one call, of any kind: how each target is asked, and how its reply is read. */
import type { Effect, Result } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { VendorFault } from "../../dialects/vendor/faults.ts"
import type { EncodeRefusal, SentRequest } from "../../dialects/wire.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import type { SpanOptions } from "../../telemetry/tracing.ts"
import type { UpstreamBroken, UpstreamHead } from "../../upstream/client.ts"
import type { VendorRejected } from "./errors.ts"
import type { CallFailure } from "./operation.ts"

/** The state after a read: more must come, the reply is whole, or it broke off with a fault. */
export type Delivered = "more" | "whole" | VendorFault

/** Reads one reply of one target. Reading and delivery are two steps: a fault that is read first fails the target. */
export interface Reader {
  /** Whether frames come before its end. */
  readonly isStreamed: boolean
  /** Takes the bytes of one read of the socket. @returns whether they brought something that a client could use */
  readonly read: (bytes: Uint8Array) => boolean
  /** The reply has ended. @returns whether its end brought something that a client could use */
  readonly readEnd: () => boolean
  /** The work that must be done before more is read: a write to the disk, or the turn of others; undefined if there is none. */
  readonly written?: () => Promise<unknown> | undefined
  /** The fault at the beginning of what was read. */
  readonly fault: VendorFault | undefined
  /** Counts what was read and gives it to the client. @param isFirst at the beginning of the reply */
  readonly deliver: (isFirst: boolean, isEnd: boolean) => Delivered
}

export type PreparationError = ServiceError | UpstreamBroken | VendorRejected

export interface Work {
  /** Requests that a target needs, one after the other; one if absent. */
  readonly partsAt?: (target: CallTarget) => number
  /**
   * The preparation before a target is asked, if it takes time. A `ServiceError` ends the call, unless it is a timeout; after other
   * failures another target is asked.
   */
  readonly prepare?: ((target: CallTarget) => Effect.Effect<void, PreparationError>) | undefined
  /** The work after a whole reply, before it is sent, if it takes time. */
  readonly concluded?: (target: CallTarget) => Effect.Effect<void, ServiceError>
  /**
   * Called after each whole reply, for work between requests of one call; absent if one request is all.
   * @returns whether the target is asked once more
   */
  readonly goesOn?: (() => Effect.Effect<boolean, ServiceError>) | undefined
  /** Whether a status is a success; 200 alone if absent. */
  readonly accepts?: (status: number) => boolean
  readonly encode: (target: CallTarget, part: number) => Result.Result<SentRequest, EncodeRefusal>
  readonly reader: (target: CallTarget, head: UpstreamHead, part: number) => Reader
  /** The largest whole reply; 32 MiB if absent. */
  readonly maxBodyBytes?: number
  /**
   * Called if the target refused content that other vendors have sealed in the thread: the next request to it leaves that
   * out.
   * @returns whether that would be another request
   */
  readonly unseal?: (target: CallTarget) => boolean
  /** Whether another target is asked after every refusal, because no request can be at fault. */
  readonly triesAfterRefusal?: boolean
  /**
   * The client's own name of a field that the vendor refuses, where the vendor that is asked got the client's own request.
   * @param field that the vendor names @param mentioned names in its text
   */
  readonly clientField?: (field: string | undefined, mentioned: ReadonlyArray<string>) => string | undefined
  /**
   * Whether another target may be asked after a failure; always if absent. A request that may have been run is not sent
   * to another one.
   */
  readonly mayAskAnother?: () => boolean
  /** Whether the books learn of the call before its request is sent, because it must not be sent a second time. */
  readonly isRecordedFirst?: boolean
  /** Whether clients get the vendor's machine code of a refusal. */
  readonly tellsCode?: boolean
  /** The content that has been received so far. */
  readonly received: {
    /** Bytes of content. */
    readonly outputBytes: number
    /** Whether the vendor has said why its reply ended: only its usage is missing. */
    readonly isAnswered: boolean
  }
  /** Warnings for the client: of the plan, and of failovers. */
  readonly warnings: Array<WarnEvent>
  /** Name and attributes of the span of one vendor call. */
  readonly span: (target: CallTarget) => { readonly name: string; readonly options: () => SpanOptions }
  /** Records the metrics of one vendor call. @param error what ended it, if it did not end normally */
  readonly record: (target: CallTarget, millis: number, error: CallFailure | undefined) => void
}
