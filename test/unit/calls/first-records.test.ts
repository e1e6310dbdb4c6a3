/** Calls that are recorded together before they are sent. */
import { Deferred, Effect, Exit, Fiber } from "effect"
import { expect, it } from "vitest"
import { FirstRecords } from "../../../src/calls/settle/first-records.ts"
import type { Checkpoint } from "../../../src/money/ledger.ts"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"

const checkpoint = (orgId: string, ref: string): Checkpoint => ({
  hold: {
    ref,
    orgId,
    currency: "USD",
    keyId: "k",
    requestId: undefined,
    amount: 1n,
    day: "2026-11-30",
    budgets: [],
    node: 1n,
    balance: 0n,
  } as unknown as Checkpoint["hold"],
  settlement: undefined,
})

const ledger = () => {
  const written: Array<ReadonlyArray<string>> = []
  const gates: Array<Deferred.Deferred<void, StoreUnavailable>> = []
  return {
    written,
    gates,
    checkpoint: (items: ReadonlyArray<Checkpoint>) =>
      Effect.suspend(() => {
        written.push(items.map(({ hold }) => hold.ref))
        const gate = Deferred.makeUnsafe<void, StoreUnavailable>()
        gates.push(gate)
        return Deferred.await(gate)
      }),
  }
}
const open = (
  gate: Deferred.Deferred<void, StoreUnavailable> | undefined,
  exit: Exit.Exit<void, StoreUnavailable> = Exit.void,
) => {
  if (gate !== undefined) Deferred.doneUnsafe(gate, exit)
}
const turn = () => new Promise((resolve) => setTimeout(resolve, 5))

it("writes those that came meanwhile in one step, and each organisation by itself", async () => {
  const books = ledger()
  const records = new FirstRecords(books)
  const run = (org: string, ref: string) => Effect.runFork(records.record(checkpoint(org, ref)))
  const fibers = [run("a", "1"), run("b", "4")]
  await turn()
  fibers.push(run("a", "2"), run("a", "3"))
  await turn()
  expect(books.written).toEqual([["1"], ["4"]])
  open(books.gates[0])
  await turn()
  expect(books.written).toEqual([["1"], ["4"], ["2", "3"]])
  for (const gate of books.gates) open(gate)
  for (const fiber of fibers) await Effect.runPromise(Fiber.join(fiber))
  await turn()
  const later = run("a", "5")
  await turn()
  expect(books.written.at(-1)).toEqual(["5"])
  open(books.gates.at(-1))
  await Effect.runPromise(Fiber.join(later))
})

it("fails those that were written together, and none after them; a caller that leaves takes nobody with it", async () => {
  const books = ledger()
  const records = new FirstRecords(books)
  const run = (ref: string) => Effect.runFork(records.record(checkpoint("a", ref)))
  const first = run("1")
  await turn()
  const second = run("2")
  await turn()
  await Effect.runPromise(Fiber.interrupt(first))
  open(books.gates[0])
  await turn()
  expect(books.written).toEqual([["1"], ["2"]])
  open(books.gates[1], Exit.fail(new StoreUnavailable({ store: "database", cause: "down" } as never)))
  expect(Exit.isFailure(await Effect.runPromise(Effect.exit(Fiber.join(second))))).toBe(true)
  const third = run("3")
  await turn()
  open(books.gates[2])
  await Effect.runPromise(Fiber.join(third))
})
