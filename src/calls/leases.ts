/**
 * Leases: a node renews its own, writes checkpoints of its running calls, gives back money that it does not use, and
 * closes what dead nodes left. Any number of nodes may do so.
 */
import { Clock, Effect, type Scope } from "effect"
import type { Gate, Registration } from "../admission/gate.ts"
import { runEvery } from "../background.ts"
import type { Checkpoint, Ledger } from "../money/ledger.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** A call with a hold. */
export interface Leased {
  readonly checkpoint: () => Checkpoint
  readonly registration: Registration | undefined
  /** When its next checkpoint is due; set when it is first seen. */
  dueAtMs?: number
}

export interface LeaseServices {
  readonly ledger: Ledger["Service"]
  readonly gate: Gate["Service"]
  readonly running: ReadonlySet<Leased>
  /** Calls that wait for the reply of another one, without a hold. */
  readonly waiting: ReadonlySet<Pick<Leased, "registration">>
  readonly leaseMs: number
  readonly checkpointMs: number
}

/** A call that ends sooner leaves nothing behind in the database but its settlement. */
const firstCheckpointMs = 1000

/** Renews this node's leases and reaps expired ones, until the scope closes. */
export const keepLeases = (services: LeaseServices): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { ledger, checkpointMs, leaseMs } = services
    const clock = yield* Clock.Clock
    let reachableSinceMs = clock.currentTimeMillisUnsafe()
    const lostTouch = () => {
      reachableSinceMs = clock.currentTimeMillisUnsafe()
    }

    // After an outage all leases have expired, including those of living nodes: let them renew first.
    const reap = Effect.suspend((): Effect.Effect<unknown, StoreUnavailable> => {
      const reachableMs = clock.currentTimeMillisUnsafe() - reachableSinceMs
      return reachableMs < leaseMs ? Effect.void : ledger.reap
    })
    yield* runEvery(
      checkpointMs,
      "Renewing leases",
      ledger.renew.pipe(
        Effect.andThen(reap),
        Effect.tapError(() => Effect.sync(lostTouch)),
      ),
    )
    yield* runEvery(Math.min(firstCheckpointMs, checkpointMs), "Writing checkpoints", writeCheckpoints(services, clock))
    yield* runEvery(1000, "Giving back idle allotments", ledger.returnIdle)
    yield* runEvery(checkpointMs, "Renewing registrations", renewRegistrations(services))
  })

/** The first checkpoint of a call after a second at the latest two, then one at each interval. */
const writeCheckpoints = ({ ledger, running, checkpointMs }: LeaseServices, clock: Clock.Clock) =>
  Effect.suspend(() => {
    const nowMs = clock.currentTimeMillisUnsafe()
    const due: Array<Checkpoint> = []
    for (const each of running) {
      each.dueAtMs ??= nowMs + Math.min(firstCheckpointMs, checkpointMs)
      if (each.dueAtMs > nowMs) continue
      each.dueAtMs = nowMs + checkpointMs
      due.push(each.checkpoint())
    }
    return due.length === 0 ? Effect.void : ledger.checkpoint(due)
  })

const renewRegistrations = ({ gate, running, waiting, leaseMs }: LeaseServices) =>
  Effect.suspend(() => {
    const registrations = [...running, ...waiting].flatMap(({ registration }) => registration ?? [])
    return registrations.length === 0 ? Effect.void : gate.renew(registrations, leaseMs)
  })
