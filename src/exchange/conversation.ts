/** What the vendor calls of one exchange share: the request, where its reply goes, its deadlines and what ends it. */
import { type Context, Data } from "effect"
import type { ModelTarget } from "../catalogue/snapshot.ts"
import type { VendorRequest } from "../dialects/dialect.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import type { Tier, Timeouts } from "../protocol/timeout-tiers.ts"
import type { Attempt } from "../telemetry/exchange-reports.ts"
import type { VendorClient } from "../upstream/client.ts"
import type { Watched } from "../upstream/deadlines.ts"
import type { TargetHealth } from "../upstream/health.ts"
import type { ClientReply } from "./reply.ts"
import type { Signal } from "./signal.ts"
import type { UsageMeter } from "./usage-meter.ts"
import type { TierTimeout } from "./vendor-errors.ts"

/** The client disconnected before the vendor had finished. */
export class ClientGone extends Data.TaggedError("ClientGone") {}

/** What ends a conversation from outside its calls. */
export type EndedEarly = ClientGone | TierTimeout | ServiceError<"stream_backpressure">

export interface Conversation {
  /** The gateway's own request id, for the log. */
  readonly requestId: string
  readonly client: VendorClient["Service"]
  readonly health: TargetHealth["Service"]
  readonly context: Context.Context<never>
  /** The request without the target's own name of the model. */
  readonly vendorRequest: Omit<VendorRequest, "model">
  /** In failover order. */
  readonly targets: ReadonlyArray<ModelTarget>
  readonly meter: UsageMeter
  /** Absent if there is no client. */
  readonly reply?: ClientReply
  /** Where the events of a stream go; undefined if the client gets a whole reply. */
  readonly stream: ClientReply | undefined
  /** Maximum size of a reply, in bytes. */
  readonly maxReplyBytes: number
  readonly timeoutsOf: (target: ModelTarget) => Timeouts
  /** `t.open` and the warnings so far. */
  readonly opening: () => string
  /** Warnings for the client: of the plan, and of failovers. */
  readonly warnings: Array<WarnEvent>
  readonly signal: Signal<EndedEarly>
  readonly nowMs: () => number
  /** When the exchange was planned, in milliseconds since the epoch. */
  readonly startedAtMs: number
  /** Vendor calls that failed. */
  readonly attempts: Array<Attempt>
  /** Looks at the deadlines no later than at a time; set by the exchange's watch. */
  lookBy: (dueMs: number) => void
  /** The running call, which has deadlines of its own. */
  call: Watched | undefined
  /** The current target. */
  target: ModelTarget | undefined
  /** Whether the first frame has arrived, which ends failover. */
  opened: boolean
  /** The time of each tier at the current target, in milliseconds. */
  readonly took: Partial<Record<Tier, number>>
}
