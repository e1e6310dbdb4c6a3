/**
 * Admission: may this caller do this now? One atomic step a request, the same for one node and for many.
 *
 * In this order, and nothing is counted unless all of it passes: the nonce is new, every rate window and every daily
 * count has room, the idempotency key is free, the session is the caller's and its plan has room for it.
 * Sources: interface.md "Request signature" 3, "Limits", the state tables "Exchange request id" and "Session".
 */
import { Context, Effect, Option, Schedule, Schema } from "effect"
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

/** A count that ends with its day, e.g. web searches; midnight is UTC+8. */
export interface DailyCount {
  readonly bucket: string
  readonly limit: number
  /** e.g. `2026-11-21`. */
  readonly day: string
}

/** A session that asks to be active: renewed inside the window, judged like a new one outside of it. */
export interface SessionClaim {
  readonly id: string
  /** Who it belongs to: a key, and the end user where there is one. */
  readonly caller: string
  readonly windowMs: number
  /** How many sessions an owner may have active; undefined has no end. */
  readonly cap: number | undefined
  /** Whether a full plan refuses; if not, it is only told. */
  readonly enforces: boolean
  /** What to do with an id that the gate does not know: register it, or say so. */
  readonly ifUnknown: "register" | "tell"
  /** What the durable store knows of the session, where the gate did not: when it was last seen. */
  readonly lastSeenMs?: number | undefined
}

export interface AdmitRequest {
  readonly owner: string
  readonly keyId: string
  readonly nonce?: string | undefined
  readonly rates: ReadonlyArray<RateWindow>
  readonly counts?: ReadonlyArray<DailyCount> | undefined
  readonly session?: SessionClaim | undefined
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
  | {
      readonly _tag: "Admitted"
      /** How the session came in, where one was claimed; `wouldReject` where the plan was full and only tells. */
      readonly session?: { readonly entry: "renewed" | "reentered" | "registered"; readonly wouldReject: boolean }
    }
  /** The gate does not know the session, and was to say so: nothing was counted. */
  | { readonly _tag: "UnknownSession" }
  /** The first call with this idempotency key is still running. */
  | { readonly _tag: "InProgress" }
  | { readonly _tag: "Replay"; readonly snapshot: Snapshot }

export type AdmissionError =
  | ServiceError<
      | "nonce_replayed"
      | "rate_limited"
      | "idempotency_conflict"
      | "plan_gate_unavailable"
      | "websearch_quota_exceeded"
      | SessionErrorCode
    >
  | StoreUnavailable

type SessionErrorCode = "plan_concurrency_exceeded" | "session_archived" | "not_found"

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
    /** Gives counts of a day back that came to nothing. */
    readonly giveBack: (owner: string, counts: ReadonlyArray<DailyCount>) => Effect.Effect<void, StoreUnavailable>
    /** Ends a session: it is never active again. `forget` is for one that was never registered durably. */
    readonly endSession: (
      owner: string,
      id: string,
      caller: string,
      how: "archive" | "forget",
    ) => Effect.Effect<void, StoreUnavailable>
    /** How many sessions an owner has active; takes no slot. */
    readonly activeSessions: (owner: string, windowMs: number) => Effect.Effect<number, StoreUnavailable>
    /** The most sessions active in each hour of a UTC+8 day; undefined for hours without activity. */
    readonly peaks: (owner: string, day: string) => Effect.Effect<ReadonlyArray<number | undefined>, StoreUnavailable>
    /** Whether the store answers. */
    readonly ping: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/admission/Gate") {}

/** Tells the gate what it must come to know; one that does not answer is told again, ever more slowly, for a minute. */
export const tellEventually = (tell: Effect.Effect<void, StoreUnavailable>): Effect.Effect<void> =>
  Effect.catch(tell, () => Effect.asVoid(Effect.forkDetach(Effect.ignore(Effect.retry(tell, evermoreSlowly)))))

const evermoreSlowly = Schedule.exponential("200 millis").pipe(Schedule.upTo({ times: 8 }))

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

const entries = ["renewed", "reentered", "registered"] as const
type Entry = (typeof entries)[number]

export const isEntry = (value: unknown): value is Entry => entries.some((entry) => entry === value)

export const admittedSession = (
  entry: Entry,
  wouldReject: boolean,
): Extract<Admission, { readonly _tag: "Admitted" }> => ({
  _tag: "Admitted",
  session: { entry, wouldReject },
})

/** Hours and counts in turn, as a store keeps them. */
export const readPeaks = (reply: unknown): ReadonlyArray<number | undefined> => {
  const peaks: Array<number | undefined> = Array.from({ length: 24 })
  const fields: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
  for (let at = 0; at + 1 < fields.length; at += 2) peaks[Number(fields[at])] = Number(fields[at + 1])
  return peaks
}

/** Suggested by the contract ("Limits"). */
const concurrencyRetryAfterMs = 30_000

export const concurrencyExceeded = (): ServiceError<"plan_concurrency_exceeded"> =>
  serviceError("plan_concurrency_exceeded", "The plan has no room for another session", {
    retryAfterMs: concurrencyRetryAfterMs,
  })

export const sessionArchived = (sessionId: string): ServiceError<"session_archived"> =>
  serviceError("session_archived", "This session has ended", { detail: { sessionId } })

/** Unknown and foreign sessions are refused identically. */
export const unknownSession = (): ServiceError<"not_found"> => serviceError("not_found", "There is no such session")

export const searchQuotaExceeded = (limit: number, used: number): ServiceError<"websearch_quota_exceeded"> =>
  serviceError("websearch_quota_exceeded", "The daily searches are used up", { detail: { limit, used } })
