/**
 * Admission: may this caller do this now? One atomic step a request, the same for one node and for many.
 *
 * In this order, and nothing is counted unless all of it passes: the nonce is new, every rate window has room, the
 * idempotency key is free. Sources: interface.md "Request signature" 3, "Limits", the state table "Exchange request id".
 */
import { Context, Effect, Option, Schema } from "effect"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { Sealer } from "../store/seal.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** A nonce may not come again for the same key id within this time. */
export const nonceWindowMs = 600_000

export interface RateWindow {
  /** What is counted, within the owner: e.g. `key:key_demo`. */
  readonly bucket: string
  readonly limit: number
  readonly windowMs: number
  /** Told in `detail.scope`; absent for the key-level window. */
  readonly scope?: "app" | "endUser" | undefined
}

/** A claim on an idempotency key: (owner, API key, requestId). */
export interface Registration {
  readonly owner: string
  readonly keyId: string
  readonly requestId: string
  /** The gateway's own id of the call that claims the key: only its own claim can be renewed or withdrawn. */
  readonly claim: string
}

export interface AdmitRequest {
  readonly owner: string
  readonly keyId: string
  readonly nonce?: string | undefined
  readonly rates: ReadonlyArray<RateWindow>
  readonly register?:
    | {
        readonly requestId: string
        readonly claim: string
        /** Hash of the payload, blind to key order. */
        readonly payloadHash: string
        /** How long the claim stands if this node dies. */
        readonly leaseMs: number
      }
    | undefined
}

/** A finished reply, kept to be given again. */
export const Snapshot = Schema.Struct({
  status: Schema.Int,
  headers: Schema.Record(Schema.String, Schema.String),
  body: Schema.String,
})
export type Snapshot = typeof Snapshot.Type

export type Admission =
  | { readonly _tag: "Admitted" }
  /** The first call with this idempotency key is still running. */
  | { readonly _tag: "InProgress" }
  | { readonly _tag: "Replay"; readonly snapshot: Snapshot }

export type AdmissionError =
  | ServiceError<"nonce_replayed" | "rate_limited" | "idempotency_conflict" | "plan_gate_unavailable">
  | StoreUnavailable

export class Gate extends Context.Service<
  Gate,
  {
    /** Admits or refuses. A registration stands until {@link complete} or {@link withdraw}. */
    readonly admit: (request: AdmitRequest) => Effect.Effect<Admission, AdmissionError>
    /** The exchange was billed: the key is spent. Without a snapshot the result cannot be replayed. */
    readonly complete: (
      registration: Registration,
      payloadHash: string,
      snapshot: Snapshot | undefined,
    ) => Effect.Effect<void, StoreUnavailable>
    /** The exchange came to nothing: the same key may be used again. */
    readonly withdraw: (registration: Registration) => Effect.Effect<void, StoreUnavailable>
    /** Keeps claims that are in progress for another lease. */
    readonly renew: (
      registrations: ReadonlyArray<Registration>,
      leaseMs: number,
    ) => Effect.Effect<void, StoreUnavailable>
    /** Whether the store answers. */
    readonly ping: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/admission/Gate") {}

export interface GateOptions {
  /** How long finished idempotency records are kept. */
  readonly idempotencyTtlMs: number
  /** Snapshots are answers: they are sealed where they are kept. */
  readonly sealer: Sealer
}

const SnapshotJson = Schema.fromJsonString(Snapshot)
const encodeSnapshot = Schema.encodeSync(SnapshotJson)
const decodeSnapshot = Schema.decodeUnknownOption(SnapshotJson)

export const sealSnapshot = ({ sealer }: GateOptions, snapshot: Snapshot): string =>
  sealer.seal(encodeSnapshot(snapshot))

/** A snapshot that does not open cannot be replayed. */
export const openSnapshot = ({ sealer }: GateOptions, sealed: string): Effect.Effect<Admission, AdmissionError> => {
  const snapshot = Option.getOrUndefined(decodeSnapshot(sealer.open(sealed)))
  return snapshot === undefined ? Effect.fail(notReplayable()) : Effect.succeed({ _tag: "Replay", snapshot })
}

export const nonceReplayed = (): ServiceError<"nonce_replayed"> =>
  serviceError("nonce_replayed", "This nonce has been used within the last ten minutes")

export const rateLimited = (
  scope: RateWindow["scope"] | undefined,
  retryAfterMs: number,
): ServiceError<"rate_limited"> =>
  serviceError("rate_limited", "Too many requests", {
    retryAfterMs: Math.max(1, retryAfterMs),
    ...(scope !== undefined && { detail: { scope } }),
  })

export const payloadConflict = (): ServiceError<"idempotency_conflict"> =>
  serviceError("idempotency_conflict", "This requestId was used with a different payload")

export const notReplayable = (): ServiceError<"idempotency_conflict"> =>
  serviceError("idempotency_conflict", "This requestId is completed and its result cannot be replayed", {
    detail: { replayable: false },
  })
