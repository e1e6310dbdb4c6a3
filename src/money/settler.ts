/**
 * Settles in every case: retries for a while, then stores the settlement in the journal and replays it until the ledger
 * has it. Nothing is lost, and the ledger ensures that nothing is settled twice.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, Schedule, type Scope } from "effect"
import { runEvery } from "../background.ts"
import { WeirConfig } from "../config.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Amount } from "./amount.ts"
import { openJournal } from "./journal.ts"
import { Ledger } from "./ledger.ts"
import type { HoldFacts, Settlement } from "./settlement.ts"

export type SettleResult =
  | { readonly _tag: "Settled"; readonly balance: Amount }
  /** Stored on disk, or in memory while the disk cannot be written, to be settled when the database answers again. */
  | { readonly _tag: "Deferred" }

export class Settler extends Context.Service<
  Settler,
  {
    /**
     * Settles a hold, or ensures that it will be settled. Does not fail.
     * @param late the settlement if the database does not answer now
     */
    readonly settle: (settlement: Settlement, late?: () => Settlement) => Effect.Effect<SettleResult>
    /** Releases a hold, or ensures that it will be released while this process lives; after that, its lease ends it. */
    readonly release: (hold: HoldFacts) => Effect.Effect<void>
    /** Settlements in the journal. */
    readonly deferred: () => ReadonlyArray<Settlement>
  }
>()("weir/money/Settler") {
  static readonly layer = Layer.effect(
    Settler,
    Effect.gen(function* () {
      const { dataDir, settlePatienceMs } = yield* WeirConfig
      const ledger = yield* Ledger
      const journal = yield* openJournal(yield* journalFolder(dataDir))

      const patience = Schedule.exponential("50 millis").pipe(Schedule.upTo({ duration: `${settlePatienceMs} millis` }))
      const patiently = <A>(effect: Effect.Effect<A, StoreUnavailable>) =>
        Effect.catch(effect, () => Effect.delay(Effect.retry(effect, patience), "50 millis"))

      /** Holds that are to be released when the database answers again. */
      const unreleased = new Set<HoldFacts>()

      const defer = (settlement: Settlement) =>
        journal.append(settlement).pipe(
          Effect.tap((isOnDisk) =>
            isOnDisk
              ? Effect.logError("A settlement was stored in the journal", { ref: settlement.hold.ref })
              : Effect.logError("A settlement is kept in memory, because the journal cannot be written", {
                  ref: settlement.hold.ref,
                }),
          ),
          Effect.as<SettleResult>({ _tag: "Deferred" }),
        )

      // All at once, as one batch; each on its own, so that one that fails does not block the others.
      const each = { concurrency: "unbounded", discard: true } as const
      const replay = Effect.andThen(journal.write, () =>
        Effect.forEach(
          journal.pending(),
          (settlement) =>
            Effect.ignore(Effect.andThen(ledger.settle(settlement), journal.settled(settlement.hold.ref))),
          each,
        ),
      )
      const releaseLate = Effect.suspend(() =>
        Effect.forEach(
          unreleased,
          (hold) => Effect.ignore(Effect.map(ledger.release(hold), () => unreleased.delete(hold))),
          each,
        ),
      )
      yield* runEvery("1 second", "Replaying the journal", replay)
      yield* runEvery("1 second", "Releasing holds", releaseLate)

      return Settler.of({
        deferred: journal.pending,
        settle: (settlement, late = () => settlement) =>
          patiently(ledger.settle(settlement)).pipe(
            Effect.map((balance): SettleResult => ({ _tag: "Settled", balance })),
            Effect.catch(() => Effect.suspend(() => defer(late()))),
          ),
        release: (hold) =>
          patiently(ledger.release(hold)).pipe(
            Effect.catch((cause) =>
              Effect.map(Effect.logError("A hold could not be released, and will be later", cause), () => {
                unreleased.add(hold)
              }),
            ),
          ),
      })
    }),
  )
}

/**
 * The journal's folder: in the data directory, or if the database is in memory, in a temporary folder that is removed with
 * the gateway.
 */
const journalFolder = (dataDir: string): Effect.Effect<string, never, Scope.Scope> =>
  dataDir === ":memory:"
    ? Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "weir-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
      )
    : Effect.succeed(join(dataDir, "journal"))
