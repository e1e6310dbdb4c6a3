/**
 * Admission: may this caller do this now? One atomic step per request, with the same rules for one node and for many.
 *
 * The checks, in order; nothing is counted unless all pass: the nonce is new, every rate window and every daily count
 * has room, the idempotency key is free, the session belongs to the caller and its plan has room for it.
 */
import { Context, Effect, Schedule } from "effect"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** The time in which a nonce cannot be reused with the same key id. */
export const nonceWindowMs = 600_000

/** The subject that a limit is set at; returned in `detail.scope`. */
export type LimitScope = "org" | "team" | "person" | "app" | "key" | "endUser"

export interface RateWindow {
  /** The counter within the owner: e.g. `key:key_demo`. */
  readonly bucket: string
  readonly limit: number
  readonly windowMs: number
  /** Absent for the key-level window of a plan. */
  readonly scope?: LimitScope | undefined
  /** `requests` if absent. */
  readonly unit?: "requests" | "tokens" | undefined
  /** The amount that the call counts: 1 if absent; for tokens an estimate, which is corrected when the call has ended. */
  readonly amount?: number | undefined
  /** Whether tokens that a vendor reads from its cache count; they do if absent. */
  readonly cached?: "count" | "free" | undefined
}

/** A limit of calls at a time. */
export interface SlotLimit {
  /** The counter within the owner: e.g. `app:app_demo`. */
  readonly bucket: string
  readonly limit: number
  readonly scope: LimitScope
  /** The calls that are meant; all if absent. */
  readonly of?: "background" | "uploads" | undefined
}

/** The counts of a call, in the order of its rates. */
export interface Counted {
  readonly rates: ReadonlyArray<{
    /** The part of the window in which it was counted. */
    readonly part: number
    /** The room that is left, as far as this node knows. */
    readonly room: number
  }>
  /** Whether it is counted among the calls at a time. */
  readonly holdsCalls: boolean
}

/** A claim on an idempotency key: (owner, API key, requestId). */
export interface Registration {
  readonly owner: string
  readonly keyId: string
  readonly requestId: string
  /** The gateway's request id of the claiming call; only this claim can be renewed or withdrawn. */
  readonly claim: string
}

/** The daily quotas of the kinds of calls. */
export type QuotaErrorCode =
  | "websearch_quota_exceeded"
  | "imagegen_quota_exceeded"
  | "tts_quota_exceeded"
  | "asr_quota_exceeded"
  | "videogen_quota_exceeded"

/** A counter per day, e.g. for web searches; days begin at midnight UTC+8. */
export interface DailyCount {
  readonly bucket: string
  readonly limit: number
  /** The error code of the refusal when it is used up. */
  readonly code: QuotaErrorCode
  /** e.g. `2026-11-21`. */
  readonly day: string
}

/** A request to make a session active: renewed inside the window, checked like a new one outside it. */
export interface SessionClaim {
  readonly id: string
  /** The owner of the session: a key, and the end user if there is one. */
  readonly caller: string
  readonly windowMs: number
  /** Maximum active sessions of an owner; undefined is unlimited. */
  readonly cap: number | undefined
  /** Whether a full plan refuses; otherwise the refusal is only reported. */
  readonly enforces: boolean
  /** Whether an id that the gate does not know is registered, or reported as `UnknownSession`. */
  readonly ifUnknown: "register" | "report"
  /** When the session was last seen, according to the database; for a session that the gate does not know. */
  readonly lastSeenMs?: number | undefined
}

export interface AdmitRequest {
  readonly owner: string
  readonly keyId: string
  readonly nonce?: string | undefined
  readonly rates: ReadonlyArray<RateWindow>
  readonly slots?: ReadonlyArray<SlotLimit> | undefined
  readonly counts?: ReadonlyArray<DailyCount> | undefined
  readonly session?: SessionClaim | undefined
  readonly register?:
    | {
        readonly requestId: string
        readonly claim: string
        /** Hash of the payload, independent of key order. */
        readonly payloadHash: string
        /** The time that the claim stays valid if this node dies. */
        readonly leaseMs: number
      }
    | undefined
}

export type Admission =
  | {
      readonly _tag: "Admitted"
      /** How the session was admitted, if one was claimed; `wouldReject` if the plan was full and does not enforce. */
      readonly session?: { readonly entry: "renewed" | "reentered" | "registered"; readonly wouldReject: boolean }
      /** Since when request ids are remembered without a gap; absent if nothing was registered. */
      readonly remembersSinceMs?: number
      /** Absent if it has no rates and no limit of calls at a time. */
      readonly counted?: Counted
    }
  /** The gate does not know the session and was asked to report that; nothing was counted. */
  | { readonly _tag: "UnknownSession" }
  /** The first call with this idempotency key is still running. */
  | { readonly _tag: "InProgress"; readonly counted?: Counted }
  /** The first call with this idempotency key was billed; its reply is kept with the money. */
  | { readonly _tag: "Completed"; readonly counted?: Counted }

export type AdmissionError =
  | ServiceError<
      | "nonce_replayed"
      | "rate_limited"
      | "idempotency_conflict"
      | "plan_gate_unavailable"
      | QuotaErrorCode
      | SessionErrorCode
    >
  | StoreUnavailable

type SessionErrorCode = "plan_concurrency_exceeded" | "session_archived" | "not_found"

/** Tokens that a call used. */
export interface TokensUsed {
  readonly all: number
  /** Without those that a vendor read from its cache. */
  readonly uncached: number
}

/** The limits of a call. */
export type Limited = Pick<AdmitRequest, "owner" | "rates" | "slots">

export class Gate extends Context.Service<
  Gate,
  {
    /**
     * Admits or refuses. A registration is valid until {@link complete} or {@link withdraw}; what was counted, until
     * {@link ended}.
     */
    readonly admit: (request: AdmitRequest) => Effect.Effect<Admission, AdmissionError>
    /** Refuses as {@link admit} would where a rate has no room, and counts nothing: before work whose result depends on it. */
    readonly look: (request: Pick<AdmitRequest, "owner" | "rates">) => Effect.Effect<void, AdmissionError>
    /** Corrects the estimates of tokens, and leaves the calls at a time. Once for each admission that has counted. */
    readonly ended: (request: Limited, counted: Counted, used: TokensUsed) => Effect.Effect<void>
    /** The exchange was billed: its request id is spent. */
    readonly complete: (
      registration: Registration,
      payloadHash: string,
      isReplayable: boolean,
    ) => Effect.Effect<void, StoreUnavailable>
    /** The exchange had no result: its request id is free again. */
    readonly withdraw: (registration: Registration) => Effect.Effect<void, StoreUnavailable>
    /** Extends the leases of claims that are in progress. */
    readonly renew: (
      registrations: ReadonlyArray<Registration>,
      leaseMs: number,
    ) => Effect.Effect<void, StoreUnavailable>
    /** Returns daily counts of a call that had no result. */
    readonly giveBack: (owner: string, counts: ReadonlyArray<DailyCount>) => Effect.Effect<void, StoreUnavailable>
    /** Ends a session for good. `forget` is for a session that was never stored in the database. */
    readonly endSession: (
      owner: string,
      id: string,
      caller: string,
      how: "archive" | "forget",
    ) => Effect.Effect<void, StoreUnavailable>
    /** The number of active sessions of an owner; takes no slot. */
    readonly activeSessions: (owner: string, windowMs: number) => Effect.Effect<number, StoreUnavailable>
    /** The highest number of active sessions in each hour of a UTC+8 day; undefined for hours without activity. */
    readonly peaks: (owner: string, day: string) => Effect.Effect<ReadonlyArray<number | undefined>, StoreUnavailable>
    /** Succeeds if the store answers. */
    readonly ping: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/admission/Gate") {}

/**
 * Sends an update to the gate. If the gate does not answer, retries in the background for a minute, with growing
 * pauses.
 */
export const retryInBackground = (update: Effect.Effect<void, StoreUnavailable>): Effect.Effect<void> =>
  Effect.catch(update, () => Effect.asVoid(Effect.forkDetach(Effect.ignore(Effect.retry(update, growingPauses)))))

const growingPauses = Schedule.exponential("200 millis").pipe(Schedule.upTo({ times: 8 }))

export const nonceReplayed = (): ServiceError<"nonce_replayed"> =>
  serviceError("nonce_replayed", "The nonce was used within the last 600 seconds")

/**
 * @param used the count of the window, or of the calls at a time
 * @param retryAfterMs undefined if no wait would help: the call alone is more than the limit
 */
export const rateLimited = (
  {
    scope,
    limit,
    unit = "requests",
    amount = 1,
    of,
  }: Pick<RateWindow, "scope" | "limit" | "amount"> & {
    readonly unit?: RateWindow["unit"] | "concurrent"
    readonly of?: SlotLimit["of"]
  },
  retryAfterMs: number | undefined,
  used?: number,
): ServiceError<"rate_limited"> => {
  const isHopeless = retryAfterMs === undefined
  const detail = {
    ...(scope !== undefined && { scope }),
    unit,
    limit,
    ...(used !== undefined && { used }),
    ...(isHopeless && { asked: amount }),
  }
  return serviceError("rate_limited", isHopeless ? tooLarge : tooMany[of ?? unit], {
    detail,
    ...(isHopeless ? { retry: "never" as const } : { retryAfterMs: Math.max(1, retryAfterMs) }),
  })
}

const tooLarge = "This call alone may use more tokens than its limit allows: ask for fewer output tokens"
const tooMany = {
  requests: "Too many requests",
  tokens: "Too many tokens",
  concurrent: "Too many calls at the same time",
  uploads: "Too many uploads at the same time: wait until one has ended",
  background: "Too many responses run in the background: cancel one, or wait until one has ended",
} as const

/** The time after which a call may try again where calls at a time are full: nobody knows when one of them ends. */
export const slotRetryAfterMs = 1000

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

/** Parses alternating hours and counts, as Redis returns a hash. */
export const readPeaks = (reply: unknown): ReadonlyArray<number | undefined> => {
  const peaks: Array<number | undefined> = Array.from({ length: 24 })
  const fields: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
  for (let at = 0; at + 1 < fields.length; at += 2) peaks[Number(fields[at])] = Number(fields[at + 1])
  return peaks
}

const concurrencyRetryAfterMs = 30_000

export const concurrencyExceeded = (): ServiceError<"plan_concurrency_exceeded"> =>
  serviceError("plan_concurrency_exceeded", "The plan has no room for another session", {
    retryAfterMs: concurrencyRetryAfterMs,
  })

export const sessionArchived = (sessionId: string): ServiceError<"session_archived"> =>
  serviceError("session_archived", "This session has ended", { detail: { sessionId } })

/** Unknown and foreign sessions are refused identically. */
export const unknownSession = (): ServiceError<"not_found"> => serviceError("not_found", "The session does not exist")

export const dailyQuotaExceeded = ({ code, limit }: DailyCount, used: number): ServiceError<QuotaErrorCode> =>
  serviceError(code, "The daily quota of these calls is used up", { detail: { limit, used } })
