/**
 * Settles in every case: retries for a while, then stores the settlement in the journal and replays it until the ledger
 * has it. Nothing is lost, and the ledger ensures that nothing is settled twice.
 *
 * With `SVC_REPLY_AFTER=journaled` the journal comes first, and the ledger follows.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Array as Arr, Clock, Context, Effect, Layer, Schedule, type Scope } from "effect"
import { runEvery } from "../background.ts"
import { WeirConfig } from "../config.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { recordJournal } from "../telemetry/metrics.ts"
import type { Amount } from "./amount.ts"
import { isBatchAccount } from "./counters.ts"
import { makeFollowing } from "./following.ts"
import { journalIn } from "./journal/file.ts"
import { openJournal, usualRoom } from "./journal/journal.ts"
import { Ledger } from "./ledger.ts"
import type { RequestState } from "./ledger-store.ts"
import type { HoldFacts, Settlement } from "./settlement.ts"

export type SettleResult =
  | { readonly _tag: "Settled"; readonly balance: Amount }
  /** Stored on disk, or in memory while the disk cannot be written, to be settled when the database answers again. */
  | { readonly _tag: "Deferred" }

export interface SettleOptions {
  readonly late?: (() => Settlement) | undefined
  readonly booked?: (() => void) | undefined
}

export class Settler extends Context.Service<
  Settler,
  {
    /**
     * Settles a hold, or ensures that it will be settled. Does not fail. The balance is the ledger's, or if the journal comes
     * first, the one that this node knows.
     * @param options.late the settlement if the database does not answer now
     * @param options.booked called when the ledger has it, if this process is the one that gave it
     */
    readonly settle: (settlement: Settlement, options?: SettleOptions) => Effect.Effect<SettleResult>
    /** Releases a hold, or ensures that it will be released while this process lives; after that, its lease ends it. */
    readonly release: (hold: HoldFacts) => Effect.Effect<void>
    /** Settlements in the journal that the ledger did not take yet. */
    readonly deferred: () => ReadonlyArray<Settlement>
    /** The state of a caller's request id, if this node's journal has its settlement. */
    readonly inJournal: (orgId: string, keyId: string, requestId: string) => RequestState | undefined
  }
>()("weir/money/Settler") {
  static readonly layer = Layer.effect(
    Settler,
    Effect.gen(function* () {
      const { dataDir, settlePatienceMs, replyAfter, retentionDays } = yield* WeirConfig
      const isAhead = replyAfter === "journaled"
      const services = yield* Effect.context<never>()
      const ledger = yield* Ledger
      const oldestMs = (yield* Clock.currentTimeMillis) - retentionDays * 86_400_000
      const journal = yield* openJournal(yield* journalFolder(dataDir), isAhead ? usualRoom : 0, oldestMs)

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

      const book = (settlement: Settlement) =>
        Effect.tap(ledger.settle(settlement), () => journal.settled(settlement.hold.ref))
      const following = yield* makeFollowing((settlement) => patiently(book(settlement)))
      const deferred = () => journal.pending().filter(({ hold }) => !following.has(hold.ref))

      const settleFirst = (settlement: Settlement, { late = () => settlement, booked = nobody }: SettleOptions) =>
        patiently(book(settlement)).pipe(
          Effect.map((balance): SettleResult => {
            booked()
            return { _tag: "Settled", balance }
          }),
          Effect.catch(() => Effect.suspend(() => defer(late()))),
        )

      const journalFirst = (settlement: Settlement, options: SettleOptions): Effect.Effect<SettleResult> =>
        Effect.flatMap(ledger.endAhead(settlement), (balance) => {
          if (balance === undefined) return settleFirst(settlement, options)
          const { reply, hold } = settlement
          const told = reply === undefined ? settlement : { ...settlement, reply: { ...reply, told: balance } }
          following.begin(hold.ref)
          return Effect.flatMap(journal.append(told), (isOnDisk) => {
            if (!isOnDisk) {
              following.end(hold.ref)
              // Its reply is kept with this balance.
              const settled = settleFirst(told, options)
              return Effect.map(settled, (result) => (result._tag === "Settled" ? { ...result, balance } : result))
            }
            following.follow(told, options.booked ?? nobody)
            return Effect.succeed<SettleResult>({ _tag: "Settled", balance })
          })
        })

      // Each on its own, so that one that fails does not block the others.
      const each = { concurrency: "unbounded", discard: true } as const
      /** The number of settlements that were tried in vain since one has landed: the next ones are tried first. */
      let inVain = 0
      const replay = Effect.gen(function* () {
        // A disk that hangs holds nothing up.
        yield* Effect.timeoutOption(journal.write, "1 second")
        const waiting = deferred()
        recordJournal(services, following.size(), waiting.length)
        const first = waiting.length === 0 ? 0 : inVain % waiting.length
        for (const some of Arr.chunksOf([...waiting.slice(first), ...waiting.slice(0, first)], mostAhead)) {
          const landed = yield* Effect.forEach(some, (settlement) => Effect.isSuccess(book(settlement)), {
            concurrency: "unbounded",
          })
          inVain = landed.includes(true) ? 0 : inVain + some.length
          // The database does not answer: the others wait for the next time.
          if (inVain > 0) break
        }
      })
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
        deferred,
        inJournal: (orgId, keyId, requestId) => {
          const found = journal.find(
            ({ hold }) => hold.requestId === requestId && hold.keyId === keyId && hold.orgId === orgId,
          )
          return found && billedBy(found)
        },
        settle: (settlement, options = {}) =>
          Effect.suspend(() =>
            isAhead && journal.size() < mostAhead && mayFollow(settlement)
              ? journalFirst(settlement, options)
              : settleFirst(settlement, options),
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

const nobody = (): void => undefined

/** Undefined if the balance of its reply is not known before it is in the books. */
const billedBy = ({ hold: { ref }, reply }: Settlement): RequestState | undefined => {
  if (reply === undefined) return { _tag: "Billed", ref, reply: undefined }
  const { sealed, told } = reply
  return told === undefined ? undefined : { _tag: "Billed", ref, reply: { sealed, balance: told } }
}

/** Settlements that may be in the journal before the ledger has them; the next ones go to the ledger first. */
const mostAhead = 1024

/** Whether its client asks the books for nothing but its record: what it has made besides must be there when it has its reply. */
const mayFollow = ({ hold, job, kept }: Settlement): boolean =>
  job === undefined && kept === undefined && !isBatchAccount(hold.node)

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
    : Effect.succeed(journalIn(dataDir))
