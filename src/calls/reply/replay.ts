/** The answer to a request id that was used before, as the books know it: its reply again, or the reason why there is none. */
import { Effect } from "effect"
import { type Gate, notReplayable, payloadConflict, type Registration } from "../../admission/gate.ts"
import type { Ledger } from "../../money/ledger.ts"
import type { Settler } from "../../money/settler.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { Sealer } from "../../store/seal.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { WholeReply } from "../connection.ts"
import { openReply } from "./replay-record.ts"
import { inProgressReply, replayedReply, retryAfterMs } from "./reply-body.ts"

export interface RegisteredCall extends Registration {
  readonly payloadHash: string
}

interface ReplayServices {
  readonly ledger: Ledger["Service"]
  readonly settler: Settler["Service"]
  readonly gate: Gate["Service"]
  readonly sealer: Sealer
}

type Replayed<A> = Effect.Effect<A, ServiceError<"idempotency_conflict"> | StoreUnavailable>

/** The reply to an id that the registry has as completed. */
export const replay = (services: ReplayServices, registration: RegisteredCall): Replayed<WholeReply<never>> =>
  Effect.map(
    // The settlement waits in the journal of another node.
    replyOf(services, registration, Effect.undefined),
    (reply) => reply ?? inProgressReply(registration.requestId),
  )

/** The reply to an id that the registry may have lost, after a look into the books; undefined if it is new. */
export const replayForgotten = (
  services: ReplayServices,
  registration: RegisteredCall,
): Replayed<WholeReply<never> | undefined> =>
  Effect.tap(replyOf(services, registration, heldByAnother), (reply) =>
    reply === undefined
      ? Effect.void
      : Effect.ignore(services.gate.complete(registration, registration.payloadHash, true)),
  )

const replyOf = Effect.fnUntraced(function* (
  { ledger, settler, sealer }: ReplayServices,
  { owner, keyId, requestId, payloadHash }: RegisteredCall,
  isRunning: Effect.Effect<undefined, ServiceError<"idempotency_conflict">>,
) {
  const state = settler.inJournal(owner, keyId, requestId) ?? (yield* ledger.requestState(owner, keyId, requestId))
  if (state._tag === "New") return undefined
  if (state._tag === "Running") return yield* isRunning
  const { ref, reply } = state
  const kept = reply && openReply(sealer, { owner, ref }, reply.sealed)
  if (reply === undefined || kept === undefined) return yield* notReplayable()
  if (kept.payloadHash !== payloadHash) return yield* payloadConflict()
  return replayedReply(kept.reply, reply.balance)
})

const heldByAnother = Effect.fail(
  serviceError("idempotency_conflict", "This requestId is held by another call", { retryAfterMs }),
)
