/**
 * Leases: a node renews the holds of its running exchanges, with checkpoints, and closes the holds of other nodes whose
 * leases have expired. Any number of nodes may do so.
 */
import { Clock, Effect, Schedule, type Scope } from "effect"
import type { Gate, Registration } from "../admission/gate.ts"
import type { Checkpoint, Ledger } from "../money/ledger.ts"
import type { Settler } from "../money/settler.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** An exchange with an open hold. */
export interface Leased {
  readonly checkpoint: () => Checkpoint
  readonly registration: Registration | undefined
}

export interface LeaseServices {
  readonly ledger: Ledger["Service"]
  readonly gate: Gate["Service"]
  readonly settler: Settler["Service"]
  readonly running: ReadonlySet<Leased>
  readonly leaseMs: number
  readonly checkpointMs: number
}

/** Renews this node's leases and reaps expired ones, until the scope closes. */
export const keepLeases = (services: LeaseServices): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    let reachableSinceMs = clock.currentTimeMillisUnsafe()
    const every = <E>(task: Effect.Effect<unknown, E>) =>
      Effect.forkScoped(Effect.repeat(Effect.ignore(task), Schedule.spaced(services.checkpointMs)))
    const lostTouch = () => {
      reachableSinceMs = clock.currentTimeMillisUnsafe()
    }

    // After an outage all leases have expired, including those of living nodes: let them renew first.
    const reap = Effect.suspend((): Effect.Effect<unknown, StoreUnavailable> => {
      const reachableMs = clock.currentTimeMillisUnsafe() - reachableSinceMs
      return reachableMs < services.leaseMs ? Effect.void : services.ledger.reap
    })
    yield* every(
      renewHolds(services).pipe(
        Effect.andThen(reap),
        Effect.tapError(() => Effect.sync(lostTouch)),
      ),
    )
    yield* every(renewRegistrations(services))
  })

const renewHolds = ({ ledger, settler, running, leaseMs }: LeaseServices) =>
  Effect.suspend(() => {
    const deferred = settler.deferred().map(({ ref, cost, record }) => ({ ref, settlement: { cost, record } }))
    return ledger.renew([...[...running].map(({ checkpoint }) => checkpoint()), ...deferred], leaseMs)
  })

const renewRegistrations = ({ gate, running, leaseMs }: LeaseServices) =>
  Effect.suspend(() => {
    const registrations = [...running].flatMap(({ registration }) => registration ?? [])
    return registrations.length === 0 ? Effect.void : gate.renew(registrations, leaseMs)
  })
