/** Active sessions of a single node: concurrency per owner, and its hourly peaks. */
import type { Clock } from "effect"
import { addDays, dayOf, hourOf } from "../protocol/values/utc8.ts"
import {
  type Admission,
  admittedSession,
  concurrencyExceeded,
  type SessionClaim,
  sessionArchived,
  unknownSession,
} from "./gate.ts"

interface KnownSession {
  readonly caller: string
  readonly state: "active" | "archived"
  lastSeenMs: number
}

type Refusal = ReturnType<typeof concurrencyExceeded | typeof sessionArchived | typeof unknownSession>

export type Judgement =
  | Extract<Admission, { readonly _tag: "Admitted" }>
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Refused"; readonly error: Refusal }

/** The time that this node remembers a session; after that it is read from the database. */
const retentionMs = 86_400_000

export class MemorySessions {
  readonly #clock: Clock.Clock
  readonly #owners = new Map<string, Map<string, KnownSession>>()
  readonly #peaks = new Map<string, Array<number | undefined>>()

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  /** Checks a claim without changing anything. */
  judge(owner: string, claim: SessionClaim): Judgement {
    const now = this.#clock.currentTimeMillisUnsafe()
    const known = this.#of(owner).get(claim.id)
    if (known !== undefined && known.caller !== claim.caller) return refuse(unknownSession())
    if (known?.state === "archived") return refuse(sessionArchived(claim.id))
    const lastSeenMs = known?.lastSeenMs ?? claim.lastSeenMs
    if (lastSeenMs === undefined && claim.ifUnknown === "report") return { _tag: "Unknown" }
    if (lastSeenMs !== undefined && lastSeenMs > now - claim.windowMs) return admittedSession("renewed", false)
    const isFull = claim.cap !== undefined && this.active(owner, claim.windowMs) >= claim.cap
    if (isFull && claim.enforces) return refuse(concurrencyExceeded())
    return admittedSession(lastSeenMs === undefined ? "registered" : "reentered", isFull)
  }

  /** Marks an admitted session active from now on. */
  enter(owner: string, { id, caller, windowMs }: SessionClaim): void {
    const now = this.#clock.currentTimeMillisUnsafe()
    this.#of(owner).set(id, { caller, state: "active", lastSeenMs: now })
    const key = `${dayOf(now)} ${owner}`
    const peaks = this.#peaks.get(key) ?? Array.from({ length: 24 })
    peaks[hourOf(now)] = Math.max(peaks[hourOf(now)] ?? 0, this.active(owner, windowMs))
    this.#peaks.set(key, peaks)
  }

  end(owner: string, id: string, caller: string, how: "archive" | "forget"): void {
    if (how === "forget") this.#of(owner).delete(id)
    else this.#of(owner).set(id, { caller, state: "archived", lastSeenMs: this.#clock.currentTimeMillisUnsafe() })
  }

  active(owner: string, windowMs: number): number {
    const since = this.#clock.currentTimeMillisUnsafe() - windowMs
    let active = 0
    for (const { state, lastSeenMs } of this.#of(owner).values()) if (state === "active" && lastSeenMs > since) active++
    return active
  }

  peaks(owner: string, day: string): ReadonlyArray<number | undefined> {
    return this.#peaks.get(`${day} ${owner}`) ?? Array.from({ length: 24 })
  }

  sweep(): void {
    const now = this.#clock.currentTimeMillisUnsafe()
    for (const [owner, sessions] of this.#owners) {
      for (const [id, { lastSeenMs }] of sessions) if (lastSeenMs < now - retentionMs) sessions.delete(id)
      if (sessions.size === 0) this.#owners.delete(owner)
    }
    const oldest = addDays(dayOf(now), -3)
    for (const key of this.#peaks.keys()) if (key < oldest) this.#peaks.delete(key)
  }

  #of(owner: string): Map<string, KnownSession> {
    const known = this.#owners.get(owner)
    if (known !== undefined) return known
    const sessions = new Map<string, KnownSession>()
    this.#owners.set(owner, sessions)
    return sessions
  }
}

const refuse = (error: Refusal): Judgement => ({ _tag: "Refused", error })
