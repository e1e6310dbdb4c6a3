/** Scarce money: a hold is refused only if all money there is cannot cover it, wherever the parts are at that moment. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { LedgerStore } from "../../../src/money/ledger-store.ts"
import { Nodes } from "../../../src/money/node.ts"
import { RecallChannel } from "../../../src/money/recalls.ts"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"
import { MemoryBooks, makeStore } from "../../../src/testing/ledger-store-memory.ts"
import { dailyTokens, holdOf, ledgerOver, unit } from "../../support/books.ts"
import { randomOf } from "../../support/random.ts"

const orgId = "org"

/** Nodes over the same books, each of whose calls takes up to four milliseconds there and back. */
const startNodes = Effect.fnUntraced(function* (nodes: number, random: () => number) {
  const books = new MemoryBooks()
  const local = yield* Effect.map(Layer.build(RecallChannel.layerLocal), Context.get(RecallChannel))
  const messages: Array<string> = []
  const channel = RecallChannel.of({
    ...local,
    publish: (message) =>
      Effect.andThen(
        Effect.sync(() => messages.push(message)),
        local.publish(message),
      ),
  })
  const delay = Effect.suspend(() => Effect.sleep(Math.floor(random() * 5)))
  const slow = <A, E>(call: Effect.Effect<A, E>) => delay.pipe(Effect.andThen(call), Effect.tap(delay))
  const away = { store: false }
  const reached = Effect.suspend(() =>
    away.store ? Effect.fail(new StoreUnavailable({ store: "postgres", cause: "away" })) : Effect.void,
  )
  const ledgers = yield* Effect.forEach(Array.from({ length: nodes }), () => {
    const store = makeStore(books, Clock.currentTimeMillis)
    const slowStore = LedgerStore.of({
      ...store,
      allot: (ask) => Effect.andThen(reached, slow(store.allot(ask))),
      giveBack: (items) => slow(store.giveBack(items)),
    })
    return ledgerOver(slowStore, Layer.succeed(RecallChannel, channel))
  })
  return { ledgers, messages, away }
})

/**
 * Fifty holds at about the same time.
 * @param sizes of holds, in tokens and in money @returns what was refused, and what was left
 */
const crowd = Effect.fnUntraced(function* (
  seed: number,
  { nodes, sizes, tokens, money }: { nodes: number; sizes: ReadonlyArray<number>; tokens: number; money: number },
) {
  const random = randomOf(seed)
  const { ledgers } = yield* startNodes(nodes, random)
  yield* ledgers[0]?.topup({ id: "start", orgId, currency: "USD", amount: BigInt(money) * unit }) ?? Effect.void
  const holdOne = Effect.fnUntraced(function* () {
    const size = sizes[Math.floor(random() * sizes.length)] ?? 1
    const ledger = ledgers[Math.floor(random() * ledgers.length)]
    yield* Effect.sleep(Math.floor(random() * 8))
    const request = { ...holdOf(orgId, BigInt(size) * unit), budgets: [dailyTokens(orgId, size, tokens)] }
    const held = yield* Effect.result(ledger?.hold(request) ?? Effect.die("no ledger"))
    return { size, isHeld: Result.isSuccess(held) }
  })
  const crowd = yield* Effect.forkChild(
    Effect.forEach(Array.from({ length: 50 }), holdOne, { concurrency: "unbounded" }),
  )
  for (let ms = 0; ms < 700; ms++) yield* TestClock.adjust(1)
  const outcomes = yield* Fiber.join(crowd)
  const held = outcomes.reduce((sum, { size, isHeld }) => (isHeld ? sum + size : sum), 0)
  const refused = outcomes.filter(({ isHeld }) => !isHeld).map(({ size }) => size)
  return { left: Math.min(tokens, money) - held, refused }
}, Effect.scoped)

describe("of holds at once, none is refused that fits", () => {
  it.effect.each([
    ["of one size, by a budget", { nodes: 1, sizes: [510], tokens: 10_200, money: 1_000_000 }],
    ["of one size, by the balance", { nodes: 1, sizes: [510], tokens: 1_000_000, money: 10_200 }],
    ["of many sizes", { nodes: 1, sizes: [20, 100, 333, 510, 900], tokens: 9_000, money: 1_000_000 }],
    ["by both", { nodes: 1, sizes: [100, 510], tokens: 9_000, money: 9_100 }],
    ["on three nodes", { nodes: 3, sizes: [510], tokens: 10_200, money: 1_000_000 }],
  ] as const)(
    "%s",
    ([, terms]) =>
      Effect.gen(function* () {
        const lost: Array<object> = []
        for (let seed = 0; seed < 120; seed++) {
          const { left, refused } = yield* crowd(seed, terms)
          expect(left).toBeGreaterThanOrEqual(0)
          if (refused.some((size) => size <= left)) lost.push({ seed, left, smallest: Math.min(...refused) })
        }
        expect(lost).toEqual([])
      }),
    60_000,
  )
})

/** Two nodes of an organisation with 100, of which the second has just learned that it is out of money. */
const startTwo = Effect.gen(function* () {
  const { ledgers, messages, away } = yield* startNodes(2, () => 0)
  const [first, second] = ledgers
  if (first === undefined || second === undefined) return yield* Effect.die("no ledger")
  yield* first.topup({ id: "start", orgId, currency: "USD", amount: 100n * unit })
  expect(Result.isFailure(yield* Effect.result(second.hold(holdOf(orgId, 1000n * unit))))).toBe(true)
  messages.length = 0
  return { first, second, away, recalls: () => messages.filter((message) => message.includes('"recall"')).length }
})

describe("what other nodes have", () => {
  it.effect("at hand comes, also to a node on which nothing has moved", () =>
    Effect.gen(function* () {
      const { first, second, recalls } = yield* startTwo
      yield* first.hold(holdOf(orgId, 8n * unit))
      const [atHand] = yield* first.allotments
      expect(atHand?.free).toBeGreaterThan(3n * unit)
      yield* second.hold(holdOf(orgId, 90n * unit))
      expect(recalls()).toBe(1)
    }).pipe(Effect.scoped),
  )

  it.effect("in holds is asked for once", () =>
    Effect.gen(function* () {
      const { first, second, recalls } = yield* startTwo
      yield* first.hold(holdOf(orgId, 50n * unit))
      expect(Result.isFailure(yield* Effect.result(second.hold(holdOf(orgId, 60n * unit))))).toBe(true)
      expect(recalls()).toBe(1)
    }).pipe(Effect.scoped),
  )

  it.effect("is looked for, though a node that was left behind has nothing", () =>
    Effect.gen(function* () {
      const store = makeStore(new MemoryBooks(), Clock.currentTimeMillis)
      const nodes = new Nodes(store, 15_000, yield* Clock.Clock)
      const node = yield* nodes.enter
      const allotment = node.allotments.of(orgId, { counter: "counter" }, 0)
      expect(nodes.leftWith(orgId, "counter")).toBe(0)
      nodes.leave(node)
      expect(nodes.leftWith(orgId, "counter")).toBe(0)
      allotment.free = 1n
      expect([nodes.leftWith(orgId, "counter"), nodes.leftWith(orgId, "other")]).toEqual([1, 0])
    }),
  )

  it.effect.each(["by its own process", "by another"])("on a node that was left behind is not waited for: %s", (by) =>
    Effect.gen(function* () {
      const { first, second, away, recalls } = yield* startTwo
      yield* first.hold(holdOf(orgId, 50n * unit))
      // The store's answer is not known: the node is left, with its hold.
      away.store = true
      expect(Result.isFailure(yield* Effect.result(first.hold(holdOf(orgId, 40n * unit))))).toBe(true)
      away.store = false
      yield* first.hold(holdOf(orgId, 8n * unit))
      const asked = by === "by another" ? second : first
      const refused = yield* Effect.forkChild(Effect.result(asked.hold(holdOf(orgId, 60n * unit))))
      for (let ms = 0; ms < 100; ms++) yield* TestClock.adjust(1)
      expect(refused.pollUnsafe()).toBeDefined()
      expect(Result.isFailure(yield* Fiber.join(refused))).toBe(true)
      expect(recalls()).toBe(by === "by another" ? 1 : 0)
    }).pipe(Effect.scoped),
  )
})
