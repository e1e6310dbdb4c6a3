/**
 * The state that the vendor calls of one call share: its work, the destination of the reply, its deadlines and the signal
 * that ends it.
 */
import { type Context, Data, type Effect } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { FilesAtTargets } from "../../client-files/vendor-files.ts"
import type { Watched } from "../../deadlines.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { Tier, Timeouts } from "../../protocol/timeout-tiers.ts"
import type { Attempt } from "../../telemetry/exchange-reports.ts"
import type { VendorClient } from "../../upstream/client.ts"
import type { TargetHealth } from "../../upstream/health.ts"
import type { AttemptError, TierTimeout } from "./errors.ts"
import type { Signal } from "./signal.ts"
import type { Work } from "./work.ts"

/** The client disconnected before the vendor had finished. */
export class ClientGone extends Data.TaggedError("ClientGone") {}

/** The reason why a conversation ends from outside its vendor calls, e.g. an id of another, or a worker that lost the request. */
export type EndedEarly = ClientGone | TierTimeout | ServiceError

/** A client that reads a stream, as the vendor's side sees it. */
export interface StreamClient {
  readonly hasRoom: boolean
  readonly isFull: boolean
  onRoom: (() => void) | undefined
  readonly stall: (nowMs: number) => number
}

export interface Conversation {
  /** The gateway's own request id, for the log. */
  readonly requestId: string
  readonly client: VendorClient["Service"]
  readonly health: TargetHealth["Service"]
  readonly context: Context.Context<never>
  readonly work: Work
  /** Absent if the request names no files. */
  readonly files?: FilesAtTargets | undefined
  /** In failover order. */
  readonly targets: ReadonlyArray<CallTarget>
  /** Whether another target is asked after a refusal that is the request's fault. */
  readonly triesAfterRefusal: boolean
  /** The client of a stream; undefined if the client gets a whole reply. */
  readonly stream: StreamClient | undefined
  /** Maximum size of a reply, in bytes. */
  readonly maxReplyBytes: number
  readonly timeoutsOf: (target: CallTarget) => Timeouts
  readonly signal: Signal<EndedEarly>
  readonly nowMs: () => number
  /** The time of the plan, in milliseconds since the epoch. */
  readonly startedAtMs: number
  /** Vendor calls that failed. */
  readonly attempts: Array<Attempt>
  /** The reason why its last vendor call failed. */
  failure: AttemptError | undefined
  /** Records the call in the books before a target is asked; undefined if that is not needed. */
  recorded: Effect.Effect<void, ServiceError> | undefined
  /** Looks at the deadlines no later than at a time; set by the call's watch. */
  lookBy: (dueMs: number) => void
  /** The running vendor call, which has deadlines of its own. */
  call: Watched | undefined
  /** The current target. */
  target: CallTarget | undefined
  /** Whether the current target was asked with its own ids of files. */
  namesFiles: boolean
  /** The region in which the current target answers, as the head of its reply says. */
  region: string | undefined
  /** Whether a reply has begun that is given to the client, which ends failover. */
  opened: boolean
  /** The time of each tier at the current target, in milliseconds. */
  readonly took: Partial<Record<Tier, number>>
}

/** The values that a conversation begins with. */
type Begun =
  | "attempts"
  | "failure"
  | "recorded"
  | "lookBy"
  | "call"
  | "target"
  | "namesFiles"
  | "region"
  | "opened"
  | "took"

export const makeConversation = (given: Omit<Conversation, Begun>): Conversation => ({
  ...given,
  attempts: [],
  failure: undefined,
  recorded: undefined,
  lookBy: () => {},
  call: undefined,
  target: undefined,
  namesFiles: false,
  region: undefined,
  opened: false,
  took: {},
})
