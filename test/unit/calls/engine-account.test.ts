/** However asking an engine ends, and whenever it is interrupted, its hold is closed once, at the cost of the answers. */
import { expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Calls } from "../../../src/calls/calls.ts"
import { engineAccountOf } from "../../../src/calls/settle/engine-account.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import { Settler } from "../../../src/money/settler.ts"
import { costOfUse, type EngineWork } from "../../../src/policies/engines/engine-price.ts"
import { Sealing } from "../../../src/store/seal.ts"
import {
  layerMemoryGate,
  layerMemoryLedger,
  layerMockVendorClient,
  layerPlainServices,
  layerStaticCatalogue,
  makeLedgerBook,
  makeMockVendor,
  mockCaller,
  mockCatalogue,
} from "../../../src/testing/index.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { randomOf } from "../../support/random.ts"

const total = 2000
const random = randomOf(67)
const upTo = (most: number) => Math.floor(random() * most)
const slowly = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.delay(effect, upTo(20))

const funded = 10n ** 16n
const price = { currency: "USD", perCall: 3n, perThousandCharacters: 700n, paidBy: "organisation" } as const

/** Asks four questions, of which some fail; or fails as a whole, or dies. */
const asking = () => {
  const answered = { calls: 0, characters: 0 }
  const work: EngineWork = {
    policy: "guarded",
    engine: "lakera",
    price,
    most: { calls: 4, characters: 400 },
    answered: () => answered,
  }
  const ask = Effect.gen(function* () {
    for (let question = 0; question < 4; question++) {
      yield* Effect.sleep(upTo(20))
      const chance = random()
      if (chance < 0.1) return yield* Effect.fail("no verdict")
      if (chance < 0.15) return yield* Effect.die("a defect")
      answered.calls++
      answered.characters += 100
    }
  })
  return { work, ask, answered }
}

const layerSlowLedger = (book: ReturnType<typeof makeLedgerBook>) =>
  Layer.effect(
    Ledger,
    Effect.map(Ledger, (ledger) =>
      Ledger.of({
        ...ledger,
        hold: (request) => slowly(ledger.hold(request)),
        settle: (settlement) => slowly(ledger.settle(settlement)),
        release: (hold) => slowly(ledger.release(hold)),
      }),
    ),
  ).pipe(Layer.provide(layerMemoryLedger(book)))

it.effect(`of ${total} texts nothing is held at the end, and only answers are charged`, () =>
  Effect.scoped(
    Effect.gen(function* () {
      const book = makeLedgerBook({ org: funded })
      const parts = Layer.mergeAll(
        layerPlainServices.pipe(Layer.provideMerge(layerMemoryGate)),
        Sealing.layer,
        layerMockVendorClient(makeMockVendor(), []),
        layerSlowLedger(book),
        layerStaticCatalogue(mockCatalogue),
      ).pipe(Layer.provideMerge(layerTestConfig({})))
      const { services } = yield* Effect.map(
        Layer.build(Calls.layer.pipe(Layer.provide(Settler.layer), Layer.provide(parts))),
        Context.get(Calls),
      )
      const account = engineAccountOf(services, mockCaller)
      let due = 0n
      let settled = 0
      const one = Effect.gen(function* () {
        const { work, ask, answered } = asking()
        const running = yield* Effect.forkChild(account.within(work, ask, () => "refused"))
        if (random() < 0.5) yield* Effect.andThen(Effect.sleep(upTo(100)), Fiber.interrupt(running))
        else yield* Fiber.await(running)
        if (answered.calls > 0) settled++
        due += costOfUse(price, answered)
      })
      const all = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: total }, () => one),
          (each) => each,
          { concurrency: 50 },
        ),
      )
      for (let step = 0; step < total; step++) yield* TestClock.adjust(10)
      yield* Fiber.join(all)
      const holds = [...book.holds.values()]
      expect(holds.filter(({ state }) => state === "held")).toEqual([])
      expect(holds.filter(({ state }) => state === "settled")).toHaveLength(settled)
      expect(settled).toBeGreaterThan(total / 2)
      expect(book.balance("org")).toBe(funded - due)
    }),
  ),
)
