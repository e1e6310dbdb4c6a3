/**
 * Settling whatever happens: retried while the database is away for a moment, kept in the journal when it stays away,
 * and replayed until it lands. Nothing is lost, and the ledger sees to it that nothing lands twice.
 */
import { Context, Effect, Layer, Schedule } from "effect"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Amount } from "./amount.ts"
import { openJournal } from "./journal.ts"
import { Ledger, type Settlement } from "./ledger.ts"

export type Settled =
  | { readonly _tag: "Landed"; readonly balance: Amount }
  /** On disk, to land when the database is back. */
  | { readonly _tag: "Deferred" }

export class Settler extends Context.Service<
  Settler,
  {
    /** Settles a hold, or sees to it that it will be settled. Does not fail. */
    readonly settle: (settlement: Settlement) => Effect.Effect<Settled>
    /** Gives a hold back; tried for a while, and then left to the hold's lease. */
    readonly release: (ref: string) => Effect.Effect<void>
    /** Settlements that wait in the journal; their leases must be kept. */
    readonly deferred: () => ReadonlyArray<Settlement>
  }
>()("weir/money/Settler") {}

export interface SettlerOptions {
  /** Where the journal is kept. */
  readonly folder: string
  /** How long a settlement is tried before it goes to the journal. */
  readonly patienceMs: number
}

export const layerSettler = (options: SettlerOptions): Layer.Layer<Settler, never, Ledger> =>
  Layer.effect(
    Settler,
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const journal = yield* openJournal(options.folder)

      const patience = Schedule.exponential("50 millis").pipe(
        Schedule.upTo({ duration: `${options.patienceMs} millis` }),
      )
      const patiently = <A>(effect: Effect.Effect<A, StoreUnavailable>) => Effect.retry(effect, patience)

      const defer = (settlement: Settlement) =>
        journal
          .append(settlement)
          .pipe(
            Effect.andThen(Effect.logError("A settlement waits in the journal", { ref: settlement.ref })),
            Effect.as<Settled>({ _tag: "Deferred" }),
          )

      // All at once, as one batch; each for itself, so that one that cannot land keeps no other from it.
      const replay = Effect.suspend(() =>
        Effect.forEach(
          journal.pending(),
          (settlement) => Effect.ignore(Effect.andThen(ledger.settle(settlement), journal.landed(settlement.ref))),
          { concurrency: "unbounded", discard: true },
        ),
      )
      yield* Effect.forkScoped(Effect.repeat(replay, Schedule.spaced("1 second")))

      return Settler.of({
        deferred: journal.pending,
        settle: (settlement) =>
          patiently(ledger.settle(settlement)).pipe(
            Effect.map((balance): Settled => ({ _tag: "Landed", balance })),
            Effect.catch(() => defer(settlement)),
          ),
        release: (ref) =>
          patiently(ledger.release(ref)).pipe(
            Effect.asVoid,
            Effect.catch((cause) => Effect.logError("A hold could not be released; its lease will end it", cause)),
          ),
      })
    }),
  )
