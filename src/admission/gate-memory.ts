/**
 * The gate of a single node: its state is in this process and ends with it (the ledger still refuses a spent request
 * id).
 */
import { Clock, Effect, Layer } from "effect"
import { runEvery } from "../background.ts"
import { WeirConfig } from "../config.ts"
import { addDays, dayOf } from "../protocol/values/utc8.ts"
import {
  type Admission,
  type AdmissionError,
  type AdmitRequest,
  type Counted,
  type DailyCount,
  dailyQuotaExceeded,
  Gate,
  nonceReplayed,
  nonceWindowMs,
  notReplayable,
  payloadConflict,
  type Registration,
} from "./gate.ts"
import { MemoryLimits } from "./rates/memory-limits.ts"
import { MemorySessions } from "./sessions-memory.ts"

interface IdempotencyRecord {
  readonly payloadHash: string
  readonly claim: string
  readonly state: "in_progress" | "completed" | "not_replayable"
  readonly expiresAt: number
}

export const layerMemory = Layer.effect(
  Gate,
  Effect.gen(function* () {
    const { idempotencyTtlS } = yield* WeirConfig
    const gate = new MemoryGate(idempotencyTtlS * 1000, yield* Clock.Clock)
    yield* runEvery(
      "30 seconds",
      "Sweeping the gate",
      Effect.sync(() => gate.sweep()),
    )
    return Gate.of({
      admit: (request) => Effect.suspend(() => gate.admit(request)),
      look: ({ owner, rates }) => Effect.suspend(() => gate.limits.refusal({ owner, rates }, false) ?? Effect.void),
      ended: (request, counted, used) => Effect.sync(() => gate.limits.ended(request, counted, used)),
      complete: (registration, payloadHash, isReplayable) =>
        Effect.sync(() => gate.complete(registration, payloadHash, isReplayable)),
      withdraw: (registration) => Effect.sync(() => gate.withdraw(registration)),
      renew: (registrations, leaseMs) => Effect.sync(() => gate.renew(registrations, leaseMs)),
      giveBack: (owner, counts) => Effect.sync(() => gate.giveBack(owner, counts)),
      endSession: (owner, id, caller, how) => Effect.sync(() => gate.sessions.end(owner, id, caller, how)),
      activeSessions: (owner, windowMs) => Effect.sync(() => gate.sessions.active(owner, windowMs)),
      peaks: (owner, day) => Effect.sync(() => gate.sessions.peaks(owner, day)),
      ping: Effect.void,
    })
  }),
)

class MemoryGate {
  readonly #idempotencyTtlMs: number
  readonly #clock: Clock.Clock
  readonly #nonces = new Map<string, number>()
  readonly #records = new Map<string, IdempotencyRecord>()
  readonly #counts = new Map<string, number>()
  readonly limits: MemoryLimits
  readonly sessions: MemorySessions
  readonly #remembers: { readonly remembersSinceMs: number }

  constructor(idempotencyTtlMs: number, clock: Clock.Clock) {
    this.#idempotencyTtlMs = idempotencyTtlMs
    this.#clock = clock
    this.#remembers = { remembersSinceMs: clock.currentTimeMillisUnsafe() }
    this.limits = new MemoryLimits(clock)
    this.sessions = new MemorySessions(clock)
  }

  admit(request: AdmitRequest): Effect.Effect<Admission, AdmissionError> {
    const now = this.#clock.currentTimeMillisUnsafe()
    const nonceKey = `${request.keyId} ${request.nonce}`
    if (request.nonce !== undefined && (this.#nonces.get(nonceKey) ?? 0) > now) return Effect.fail(nonceReplayed())
    const claims = this.#recordOf(request, now) === undefined
    const refused = this.limits.refusal(request, claims)
    if (refused !== undefined) return Effect.fail(refused)
    // A call that is answered from a stored reply does not count.
    const counts = claims ? (request.counts ?? []) : []
    for (const count of counts) {
      const used = this.#counts.get(countKey(request.owner, count)) ?? 0
      if (used >= count.limit) return Effect.fail(dailyQuotaExceeded(count, used))
    }
    const judged =
      request.session === undefined || !claims ? undefined : this.sessions.judge(request.owner, request.session)
    if (judged !== undefined && judged._tag !== "Admitted")
      return judged._tag === "Unknown" ? reportUnknown : Effect.fail(judged.error)
    if (request.nonce !== undefined) this.#nonces.set(nonceKey, now + nonceWindowMs)
    const counted = this.limits.count(request, claims)
    for (const count of counts) {
      const key = countKey(request.owner, count)
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    }
    const registered = this.#register(request, now, counted)
    if (judged === undefined || request.session === undefined) return registered
    this.sessions.enter(request.owner, request.session)
    const remembers = request.register === undefined ? undefined : this.#remembers
    return Effect.succeed({ ...judged, ...remembers, ...(counted && { counted }) })
  }

  giveBack(owner: string, counts: ReadonlyArray<DailyCount>): void {
    for (const count of counts) {
      const key = countKey(owner, count)
      this.#counts.set(key, Math.max(0, (this.#counts.get(key) ?? 0) - 1))
    }
  }

  #recordOf({ owner, keyId, register }: AdmitRequest, now: number): IdempotencyRecord | undefined {
    if (register === undefined) return undefined
    const record = this.#records.get(recordKey({ owner, keyId, ...register }))
    return record === undefined || record.expiresAt <= now ? undefined : record
  }

  complete(registration: Registration, payloadHash: string, isReplayable: boolean): void {
    this.#records.set(recordKey(registration), {
      payloadHash,
      claim: registration.claim,
      state: isReplayable ? "completed" : "not_replayable",
      expiresAt: this.#clock.currentTimeMillisUnsafe() + this.#idempotencyTtlMs,
    })
  }

  withdraw(registration: Registration): void {
    const key = recordKey(registration)
    if (this.#isClaimed(key, registration.claim)) this.#records.delete(key)
  }

  renew(registrations: ReadonlyArray<Registration>, leaseMs: number): void {
    const expiresAt = this.#clock.currentTimeMillisUnsafe() + leaseMs
    for (const registration of registrations) {
      const key = recordKey(registration)
      const record = this.#records.get(key)
      if (record !== undefined && this.#isClaimed(key, registration.claim)) {
        this.#records.set(key, { ...record, expiresAt })
      }
    }
  }

  sweep(): void {
    const now = this.#clock.currentTimeMillisUnsafe()
    for (const [key, expiresAt] of this.#nonces) if (expiresAt <= now) this.#nonces.delete(key)
    this.limits.sweep()
    for (const [key, { expiresAt }] of this.#records) if (expiresAt <= now) this.#records.delete(key)
    const yesterday = addDays(dayOf(now), -1)
    for (const key of this.#counts.keys()) if (key < yesterday) this.#counts.delete(key)
    this.sessions.sweep()
  }

  #register(
    request: AdmitRequest,
    now: number,
    counted: Counted | undefined,
  ): Effect.Effect<Admission, AdmissionError> {
    const { register } = request
    if (register === undefined) return counted === undefined ? admitted : Effect.succeed({ _tag: "Admitted", counted })
    const limits = counted && { counted }
    const record = this.#recordOf(request, now)
    if (record === undefined) {
      this.#records.set(recordKey({ owner: request.owner, keyId: request.keyId, ...register }), {
        payloadHash: register.payloadHash,
        claim: register.claim,
        state: "in_progress",
        expiresAt: now + register.leaseMs,
      })
      return Effect.succeed({ _tag: "Admitted", ...this.#remembers, ...limits })
    }
    if (record.payloadHash !== register.payloadHash) return Effect.fail(payloadConflict())
    if (record.state === "not_replayable") return Effect.fail(notReplayable())
    return Effect.succeed({ _tag: record.state === "completed" ? "Completed" : "InProgress", ...limits })
  }

  /** Whether a record is in progress with this claim. */
  #isClaimed(key: string, claim: string): boolean {
    const record = this.#records.get(key)
    return record?.state === "in_progress" && record.claim === claim
  }
}

const admitted: Effect.Effect<Admission> = Effect.succeed({ _tag: "Admitted" })

const reportUnknown: Effect.Effect<Admission> = Effect.succeed({ _tag: "UnknownSession" })

const countKey = (owner: string, { bucket, day }: DailyCount): string => `${day} ${owner} ${bucket}`

const recordKey = ({ owner, keyId, requestId }: Omit<Registration, "claim">): string => `${owner} ${keyId} ${requestId}`
