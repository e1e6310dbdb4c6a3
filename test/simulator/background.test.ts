/** Responses in the background in a simulated world: kills, cancels, erasures and bad lines. Every seed is sound. */
import { expect, it } from "vitest"
import { formatAmount } from "../../src/money/amount.ts"
import type { Settled } from "../../src/money/ledger-store.ts"
import type { Settlement } from "../../src/money/settlement.ts"
import { MemoryBooks } from "../../src/testing/ledger-store-memory.ts"
import { simulateBackground } from "./background.ts"
import { ResponseRows } from "./response-rows.ts"

const seeds = Array.from({ length: 30 }, (_, at) => at + 1)

/** Rows that end again and again. */
class Restless extends ResponseRows {
  override end(...[id, state, content]: Parameters<ResponseRows["end"]>): boolean {
    if (super.end(id, state, content)) return true
    this.endsOf(id)?.push(state)
    return false
  }
}

/** Rows whose leases nobody looks at. */
class Forgotten extends ResponseRows {
  override lost(): ReturnType<ResponseRows["lost"]> {
    return []
  }
}

it(`are billed at most once and end once, for ${seeds.length} seeds`, { timeout: 120_000 }, async () => {
  for (const seed of seeds) expect(await simulateBackground(seed, 40), `seed ${seed}`).toBeUndefined()
})

/** Books that charge every settlement, any number of times. */
class Forgetful extends MemoryBooks {
  override settle(settlement: Settlement): Settled {
    this.usage.delete(settlement.hold.ref)
    return super.settle(settlement)
  }
}

it("a run has all ends, and bills what was cancelled or has failed for no more than came", async () => {
  const [rows, books] = [new ResponseRows(), new MemoryBooks()]
  expect(await simulateBackground(3, 600, { rows, books })).toBeUndefined()
  const counts = rows.counts()
  for (const state of ["completed", "failed", "cancelled"] as const) expect(counts[state], state).toBeGreaterThan(10)
  expect(rows.repeated).toBeGreaterThan(5)
  const costs = Map.groupBy(books.usage.values(), ({ settlement }) => formatAmount(settlement.cost))
  expect([...costs.keys()].toSorted()).toEqual(["1", "2", "5"])
})

it.each([
  ["rows that end twice", () => ({ rows: new Restless() }), /has ended \d times/],
  ["rows that nobody ends when their node is dead", () => ({ rows: new Forgotten() }), /has not ended/],
  ["settlements that are charged twice", () => ({ books: new Forgetful() }), /is left of/],
])("the simulation finds %s", { timeout: 120_000 }, async (_, faulty, problem) => {
  for (const seed of seeds) {
    const found = await simulateBackground(seed, 40, faulty())
    if (found === undefined) continue
    expect(found).toMatch(problem)
    return
  }
  throw new Error("no seed found it")
})
