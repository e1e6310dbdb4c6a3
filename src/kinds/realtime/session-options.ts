/** The options with which a session begins. */
import type { Effect } from "effect"
import type { CallServices } from "../../calls/services.ts"
import type { Caller } from "../../identity/caller.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { RealtimePlan } from "./plan.ts"
import type { RealtimeProtocol } from "./protocol.ts"

export interface SessionFacts {
  readonly caller: Caller
  readonly plan: RealtimePlan
  /** The session of the caller that its usage records name. */
  readonly sessionId: string
  readonly purpose: string
}

export interface SessionOptions extends SessionFacts {
  readonly services: CallServices
  readonly requestId: string
  /** The API of both sides. */
  readonly protocol: RealtimeProtocol
  /** Names of its model that the client may use. */
  readonly models: ReadonlyArray<string>
  /** The time for which it may be without an event from either side. */
  readonly idleMs: number
  /** Reads the caller as it is now: a key may have been revoked. */
  readonly again: Effect.Effect<Caller, ServiceError | StoreUnavailable>
  /** Renews it, as a session of its caller. */
  readonly renew: Effect.Effect<void>
}
