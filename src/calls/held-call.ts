/** The states of a call: as received, as admitted, and with its hold. */

import { type Effect, Result } from "effect"
import type { DailyCount } from "../admission/gate.ts"
import type { Waiting } from "../admission/overload.ts"
import type { FilesAtTargets } from "../client-files/vendor-files.ts"
import type { Caller } from "../identity/caller.ts"
import type { KeptFacts, Settlement } from "../money/settlement.ts"
import type { EngineAccount } from "../policies/engines/engine-price.ts"
import type { MaskedValues, Masking } from "../policies/masks/mask-request.ts"
import type { PolicyHit, ReviewAbout } from "../policies/review.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { Caching } from "../reply-cache/outcome.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { CountedLimits } from "./counted-limits.ts"
import type { CallRequest, Kind, Task } from "./kind.ts"
import type { RegisteredCall } from "./reply/replay.ts"
import type { ClientReply } from "./reply/reply.ts"
import type { CallReview } from "./reply/reply-review.ts"
import type { CallServices } from "./services.ts"
import type { Reserved } from "./settle/reserve.ts"
import type { Conversation } from "./vendor/conversation.ts"
import type { VendorRun } from "./vendor/vendor-run.ts"

/** A request that could be read. */
export interface DecodedCall<Request, Body extends object = object> {
  readonly request: Request
  /** Keeps the reply for its caller; absent if it is not kept. */
  readonly keep?: KeepReply<Body> | undefined
  /** Runs once the call is held, if nobody waits for its reply: its marks are not replaced in it. */
  readonly begun?: Effect.Effect<void, StoreUnavailable> | undefined
  /** The request id that its settlement spends, if its caller gave none; absent if it spends none. */
  readonly spends?: string | undefined
  /** Its reply is made in its vendor's background; absent if it is made while the call waits. */
  readonly atVendor?: VendorRun | undefined
  /** Answers a repeated request with the reply that its caller has already. False if there is none: then it is made. */
  readonly earlier?: Effect.Effect<boolean, ServiceError | StoreUnavailable> | undefined
  /** The marks that replace values of the client's request; absent if nothing was masked. */
  readonly masked?: MaskedValues | undefined
  /** Policies whose engines gave no verdict when the request was read; absent if there are none. */
  readonly missing?: ReadonlyArray<PolicyHit> | undefined
  /** Files that it names; absent if there are none. */
  readonly files?: FilesAtTargets | undefined
  /** Hash of the payload, independent of key order; only if there is an idempotency key. */
  readonly payloadHash: string | undefined
}

/** The facts of a reply that is kept, with its content sealed. */
export type KeepReply<Body extends object> = (body: Body) => KeptFacts

/** A request with the values that its marks replace. */
export const withMasked = <Request, Body extends object, E>(
  decoded: Result.Result<DecodedCall<Request, Body>, E>,
  masked: MaskedValues | undefined,
): Result.Result<DecodedCall<Request, Body>, E> =>
  masked === undefined ? decoded : Result.map(decoded, (read) => ({ ...read, masked }))

/** A request whose reply is kept. */
export const withKeep = <Request extends CallRequest, Body extends object, E>(
  decoded: Result.Result<DecodedCall<Request>, E>,
  keep: KeepReply<Body>,
  more: { readonly keptAs?: string } & Pick<DecodedCall<Request>, "begun" | "earlier" | "spends" | "atVendor"> = {},
): Result.Result<DecodedCall<Request, Body>, E> =>
  Result.map(decoded, (read) => {
    const { keptAs, ...alone } = more
    return { ...read, request: { ...read.request, isKept: true, keptAs }, keep, ...alone }
  })

/** A request with the missing verdicts of its masks. */
export const withMissing = <Request, Body extends object, E>(
  decoded: Result.Result<DecodedCall<Request, Body>, E>,
  masking: Masking | undefined,
): Result.Result<DecodedCall<Request, Body>, E> => {
  const missing = masking?.missing
  return missing === undefined || missing.length === 0 ? decoded : Result.map(decoded, (read) => ({ ...read, missing }))
}

export interface CallOrigin {
  /** The gateway's own request id. */
  readonly requestId: string
  readonly caller: Caller
  /** The trace that the call is part of, if it is sampled. */
  readonly traceId?: string
}

/** A call as received, of one kind. */
export interface Call<Request extends CallRequest, Body extends object> extends CallOrigin {
  readonly kind: Kind<Request, Body>
  /** The request, or the reason why it cannot be read, which is reported after the caller's limits. Its bytes are not kept. */
  readonly decoded: Result.Result<DecodedCall<Request, Body>, ServiceError<"bad_request">>
  /** Absent if no engine masks. */
  readonly maskedByEngines?: MaskedByEngines<Request, Body> | undefined
}

/** Reads the request again, with marks for the values that engines find. They are asked, and charged, once it is admitted. */
export type MaskedByEngines<Request, Body extends object> = (
  caller: Caller,
  account: EngineAccount,
) => Effect.Effect<DecodedCall<Request, Body>, ServiceError | StoreUnavailable>

/** A call that is admitted. */
export interface AdmittedCall<Body extends object> {
  readonly services: CallServices
  readonly call: CallOrigin
  readonly kind: Pick<Kind<never, Body>, "name" | "purpose" | "recordedAs">
  readonly meta: CallRequest["meta"]
  /** The caller's name of the model; the kind's purpose if it has no models. */
  readonly model: string
  readonly registration: RegisteredCall | undefined
  /** The counts that are taken back if the call fails. */
  readonly counts: ReadonlyArray<DailyCount>
  readonly reply: ClientReply<Body>
  readonly keep: KeepReply<Body> | undefined
  readonly begun: DecodedCall<never>["begun"]
  readonly spends: DecodedCall<never>["spends"]
  readonly atVendor: DecodedCall<never>["atVendor"]
  readonly files: DecodedCall<never>["files"]
  readonly limits: CountedLimits
  /** Matches of content policies so far. */
  readonly hits: Array<PolicyHit>
  /** The review of the reply; undefined if nothing is enforced on it. */
  readonly review: CallReview | undefined
  /** The circumstances of its reviews; undefined if no engine is asked. */
  readonly about: ReviewAbout | undefined
  /** Notified when the hold is made. */
  readonly waiting: Waiting
}

/** A call with a hold: it ends with a settlement or a release. */
export interface HeldCall<Body extends object> extends AdmittedCall<Body>, Reserved {
  readonly task: Task<Body>
  /** Undefined where the reply cache is off. */
  readonly caching: Caching | undefined
  readonly conversation: Conversation
  /**
   * The settlement that was sent to the books. If anything fails after that, no other is sent, because the key of a
   * settlement contains its time.
   */
  sent: Settlement | undefined
}
