/**
 * Leases: a node renews its own, writes checkpoints of its running calls, returns money that it does not use, and closes what
 * dead nodes left. Any number of nodes may run it.
 */
import { Clock, Effect, type Scope } from "effect"
import type { Gate, Registration } from "../../admission/gate.ts"
import { runEvery } from "../../background.ts"
import type { Checkpoint, Ledger, LedgerPart } from "../../money/ledger.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"

/** A call with a hold. */
export interface LeasedCall {
  readonly orgId: string
  readonly checkpoint: () => Checkpoint
  readonly registration: Registration | undefined
  /** The time when its next checkpoint is due; set when the call is first seen. */
  dueAtMs?: number
}

export interface LeaseServices {
  readonly ledger: Ledger["Service"]
  readonly gate: Gate["Service"]
  readonly running: Iterable<LeasedCall>
  /** Calls that wait for the reply of another one, without a hold. */
  readonly waiting: Iterable<Pick<LeasedCall, "registration">>
  readonly leaseMs: number
  readonly checkpointMs: number
}

/** A call that ends sooner leaves nothing behind in the database but its settlement. */
const firstCheckpointMs = 1000

/** Renews this node's leases and reaps expired ones, until the scope closes; a part that fails does not hold up others. */
export const keepLeases = (services: LeaseServices): Effect.Effect<void, never, Scope.Scope> =>
  Effect.andThen(
    Effect.forEach(services.ledger.parts, (part) => keepPart(services, part), { discard: true }),
    runEvery(services.checkpointMs, "Renewing registrations", renewRegistrations(services)),
  )

const keepPart = (services: LeaseServices, part: LedgerPart): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { checkpointMs, leaseMs } = services
    const clock = yield* Clock.Clock
    let reachableSinceMs = clock.currentTimeMillisUnsafe()
    const lostTouch = () => {
      reachableSinceMs = clock.currentTimeMillisUnsafe()
    }

    // After an outage all leases have expired, including those of living nodes: let them renew first.
    const reap = Effect.suspend((): Effect.Effect<unknown, StoreUnavailable> => {
      const reachableMs = clock.currentTimeMillisUnsafe() - reachableSinceMs
      return reachableMs < leaseMs ? Effect.void : part.reap
    })
    yield* runEvery(
      checkpointMs,
      "Renewing leases",
      part.renew.pipe(
        Effect.andThen(reap),
        Effect.tapError(() => Effect.sync(lostTouch)),
      ),
    )
    const write = writeCheckpoints(services, part, clock)
    yield* runEvery(Math.min(firstCheckpointMs, checkpointMs), "Writing checkpoints", write)
    yield* runEvery(1000, "Giving back idle allotments", part.returnIdle)
  })

/** The first checkpoint of a call comes after one to two seconds, the next ones at each interval. */
const writeCheckpoints = ({ running, checkpointMs }: LeaseServices, part: LedgerPart, clock: Clock.Clock) =>
  Effect.suspend(() => {
    const nowMs = clock.currentTimeMillisUnsafe()
    const due: Array<Checkpoint> = []
    for (const each of running) {
      each.dueAtMs ??= nowMs + Math.min(firstCheckpointMs, checkpointMs)
      if (each.dueAtMs > nowMs || !part.has(each.orgId)) continue
      each.dueAtMs = nowMs + checkpointMs
      due.push(each.checkpoint())
    }
    return due.length === 0 ? Effect.void : part.checkpoint(due)
  })

const renewRegistrations = ({ gate, running, waiting, leaseMs }: LeaseServices) =>
  Effect.suspend(() => {
    const registrations = [...running, ...waiting].flatMap(({ registration }) => registration ?? [])
    return registrations.length === 0 ? Effect.void : gate.renew(registrations, leaseMs)
  })
