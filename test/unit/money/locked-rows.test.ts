/** Rows of one organisation are locked: nothing of it is done, its money is where it was, and the node goes on with all others. */
import { expect, it } from "@effect/vitest"
import { Clock, Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import type { LedgerStore } from "../../../src/money/ledger-store.ts"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"
import { MemoryBooks, makeStore } from "../../../src/testing/ledger-store-memory.ts"
import { holdOf, ledgerOver, settlementOf, unit } from "../../support/books.ts"

const locked = new StoreUnavailable({ store: "postgres", cause: "a lock", wasDone: false })

it.effect("keeps the node, and what could not be sent back", () =>
  Effect.gen(function* () {
    const store = makeStore(new MemoryBooks(), Clock.currentTimeMillis)
    let isLocked = false
    const joined: Array<string> = []
    const refusing = (orgs: ReadonlyArray<string>) =>
      isLocked && orgs.includes("a") ? Effect.fail(locked) : Effect.void
    const strict: LedgerStore["Service"] = {
      ...store,
      join: (node, leaseMs) =>
        Effect.andThen(
          Effect.sync(() => joined.push(node)),
          store.join(node, leaseMs),
        ),
      allot: (ask) => Effect.andThen(refusing([ask.orgId]), store.allot(ask)),
      giveBack: (items) => Effect.andThen(refusing(items.map(({ orgId }) => orgId)), store.giveBack(items)),
    }
    const ledger = yield* ledgerOver(strict)
    const whileIdle = Effect.forEach(Array.from({ length: 120 }), () =>
      TestClock.adjust("5 seconds").pipe(
        Effect.andThen(ledger.renew),
        Effect.andThen(Effect.ignore(ledger.returnIdle)),
      ),
    )
    const call = (orgId: string, amount: bigint) =>
      Effect.flatMap(ledger.hold(holdOf(orgId, amount)), (held) => ledger.settle(settlementOf(held, unit)))
    for (const orgId of ["a", "b", "c"]) {
      yield* ledger.topup({ id: orgId, orgId, currency: "USD", amount: 1000n * unit })
      yield* call(orgId, 10n * unit)
    }
    const nodes = joined.length
    isLocked = true
    const refused = yield* Effect.result(ledger.hold(holdOf("a", 900n * unit)))
    expect(Result.isFailure(refused) && refused.failure).toMatchObject({ wasDone: false })
    // Idle amounts go back, except those of the organisation whose rows are locked.
    yield* whileIdle
    const free = (yield* ledger.allotments).filter((each) => each.free > 0n).map(({ orgId }) => orgId)
    expect(free).toEqual(["a"])
    yield* call("b", 900n * unit)
    yield* call("c", 900n * unit)
    expect(joined.length).toBe(nodes)
    isLocked = false
    yield* call("a", 900n * unit)
    yield* whileIdle
    expect((yield* ledger.allotments).filter((each) => each.free > 0n)).toEqual([])
    for (const orgId of ["a", "b", "c"]) expect(yield* ledger.balance(orgId, "USD")).toBe(998n * unit)
  }).pipe(Effect.scoped),
)
