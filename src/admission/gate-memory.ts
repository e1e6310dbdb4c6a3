/** The gate of a single node: state in this process, gone with it (the ledger still refuses a second flight). */
import { Clock, Effect, Layer, Schedule } from "effect"
import {
  type Admission,
  type AdmissionError,
  type AdmitRequest,
  Gate,
  type GateOptions,
  nonceReplayed,
  nonceWindowMs,
  notReplayable,
  openSnapshot,
  payloadConflict,
  type Registration,
  rateLimited,
  type Snapshot,
  sealSnapshot,
} from "./gate.ts"

/** Snapshots beyond this are given up, oldest first; their keys stay spent. */
const maxSnapshotBytes = 64 * 1024 * 1024

interface Window {
  count: number
  readonly endsAt: number
}

interface IdempotencyRecord {
  readonly payloadHash: string
  readonly claim: string
  readonly state: "in_progress" | "completed"
  readonly expiresAt: number
  sealed?: string | undefined
}

export const layerMemory = (options: GateOptions): Layer.Layer<Gate> =>
  Layer.effect(
    Gate,
    Effect.gen(function* () {
      const gate = new MemoryGate(options, yield* Clock.Clock)
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.sync(() => gate.sweep()),
          Schedule.spaced("30 seconds"),
        ),
      )
      return Gate.of({
        admit: (request) => Effect.suspend(() => gate.admit(request)),
        complete: (registration, payloadHash, snapshot) =>
          Effect.sync(() => gate.complete(registration, payloadHash, snapshot)),
        withdraw: (registration) => Effect.sync(() => gate.withdraw(registration)),
        renew: (registrations, leaseMs) => Effect.sync(() => gate.renew(registrations, leaseMs)),
        ping: Effect.void,
      })
    }),
  )

class MemoryGate {
  readonly #options: GateOptions
  readonly #clock: Clock.Clock
  readonly #nonces = new Map<string, number>()
  readonly #windows = new Map<string, Window>()
  readonly #records = new Map<string, IdempotencyRecord>()
  #snapshotBytes = 0

  constructor(options: GateOptions, clock: Clock.Clock) {
    this.#options = options
    this.#clock = clock
  }

  admit(request: AdmitRequest): Effect.Effect<Admission, AdmissionError> {
    const now = this.#clock.currentTimeMillisUnsafe()
    const nonceKey = `${request.keyId} ${request.nonce}`
    if (request.nonce !== undefined && (this.#nonces.get(nonceKey) ?? 0) > now) return Effect.fail(nonceReplayed())
    for (const { bucket, limit, scope } of request.rates) {
      const window = this.#windows.get(`${request.owner} ${bucket}`)
      if (window !== undefined && window.endsAt > now && window.count >= limit) {
        return Effect.fail(rateLimited(scope, window.endsAt - now))
      }
    }
    if (request.nonce !== undefined) this.#nonces.set(nonceKey, now + nonceWindowMs)
    for (const { bucket, windowMs } of request.rates) this.#count(`${request.owner} ${bucket}`, now, windowMs)
    return this.#register(request, now)
  }

  complete(registration: Registration, payloadHash: string, snapshot: Snapshot | undefined): void {
    const key = recordKey(registration)
    const sealed = snapshot === undefined ? undefined : sealSnapshot(this.#options, snapshot)
    this.#forget(key)
    this.#records.set(key, {
      payloadHash,
      claim: registration.claim,
      state: "completed",
      sealed,
      expiresAt: this.#clock.currentTimeMillisUnsafe() + this.#options.idempotencyTtlMs,
    })
    this.#snapshotBytes += sealed?.length ?? 0
    this.#giveUpSnapshots()
  }

  withdraw(registration: Registration): void {
    const key = recordKey(registration)
    if (this.#isClaimed(key, registration.claim)) this.#forget(key)
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
    for (const [key, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(key)
    for (const [key, { expiresAt }] of this.#records) if (expiresAt <= now) this.#forget(key)
  }

  #count(key: string, now: number, windowMs: number): void {
    const window = this.#windows.get(key)
    if (window === undefined || window.endsAt <= now) this.#windows.set(key, { count: 1, endsAt: now + windowMs })
    else window.count++
  }

  #register(request: AdmitRequest, now: number): Effect.Effect<Admission, AdmissionError> {
    const { register } = request
    if (register === undefined) return admitted
    const key = recordKey({ owner: request.owner, keyId: request.keyId, ...register })
    const record = this.#records.get(key)
    if (record === undefined || record.expiresAt <= now) {
      this.#records.set(key, {
        payloadHash: register.payloadHash,
        claim: register.claim,
        state: "in_progress",
        expiresAt: now + register.leaseMs,
      })
      return admitted
    }
    if (record.payloadHash !== register.payloadHash) return Effect.fail(payloadConflict())
    if (record.state === "in_progress") return Effect.succeed({ _tag: "InProgress" })
    return record.sealed === undefined ? Effect.fail(notReplayable()) : openSnapshot(this.#options, record.sealed)
  }

  /** Whether a record is in progress under this claim. */
  #isClaimed(key: string, claim: string): boolean {
    const record = this.#records.get(key)
    return record?.state === "in_progress" && record.claim === claim
  }

  #forget(key: string): void {
    this.#snapshotBytes -= this.#records.get(key)?.sealed?.length ?? 0
    this.#records.delete(key)
  }

  #giveUpSnapshots(): void {
    for (const record of this.#records.values()) {
      if (this.#snapshotBytes <= maxSnapshotBytes) return
      this.#snapshotBytes -= record.sealed?.length ?? 0
      record.sealed = undefined
    }
  }
}

const admitted: Effect.Effect<Admission> = Effect.succeed({ _tag: "Admitted" })

const recordKey = ({ owner, keyId, requestId }: Omit<Registration, "claim">): string => `${owner} ${keyId} ${requestId}`
