/** Nodes share cooldowns of targets: through memory, and through Redis if there is one. */
import { randomUUID } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Layer, type Redacted, Result, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Redis } from "../../../src/store/redis.ts"
import { layerTestConfig, testRedisUrl } from "../../../src/testing/stores.ts"
import {
  type Despite,
  TargetHealth as Health,
  makeTargetHealth,
  type SharedCooldown,
  type SharedCooldowns,
  type TargetHealth,
  type Verdict,
} from "../../../src/upstream/health.ts"
import { layerRedis } from "../../../src/upstream/health-redis.ts"

const judge = (exit: Exit.Exit<unknown, unknown>): Verdict => (Exit.isSuccess(exit) ? "healthy" : "failing")
const call = (health: TargetHealth["Service"], target: string, works: boolean, despite: Despite = "nothing") =>
  Effect.result(health.begin(target, works ? Effect.succeed("ok") : Effect.fail("broken"), { judge, despite })).pipe(
    Effect.map((result) => {
      if (Result.isSuccess(result)) return result.success
      return typeof result.failure === "string" ? result.failure : result.failure.cause
    }),
  )

const makeNode = (shared: SharedCooldowns | undefined) =>
  Effect.flatMap(Layer.build(CircuitBreaker.layerStoreMemory()), (store) =>
    Effect.provide(makeTargetHealth(shared), store),
  )

const makeBoard = (): SharedCooldowns => {
  const cooldowns = new Map<string, SharedCooldown & { readonly untilMs: number }>()
  return {
    publish: (target, cooldown) =>
      Effect.map(
        Clock.currentTimeMillis,
        (nowMs) => void cooldowns.set(target, { ...cooldown, untilMs: nowMs + cooldown.forMs }),
      ),
    added: Effect.map(Clock.currentTimeMillis, (nowMs) =>
      [...cooldowns].flatMap(([target, { untilMs, ...cooldown }]) =>
        untilMs > nowMs ? [[target, { ...cooldown, forMs: untilMs - nowMs }] as const] : [],
      ),
    ),
  }
}

describe("a node", () => {
  it.effect("leaves a target alone for as long as its vendor asks, and for an hour at most", () =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      yield* node.coolDown("t", { cause: "vendor", forMs: 5000 })
      yield* node.coolDown("long", { cause: "vendor", forMs: 365 * 24 * 3_600_000 })
      yield* TestClock.adjust(4999)
      expect(node.coolingDown("t", "nothing")).toBeDefined()
      yield* TestClock.adjust(1)
      expect(node.coolingDown("t", "nothing")).toBeUndefined()
      yield* TestClock.adjust(3_600_000 - 5001)
      expect(node.coolingDown("long", "nothing")).toBeDefined()
      yield* TestClock.adjust(1)
      expect(node.coolingDown("long", "nothing")).toBeUndefined()
    }).pipe(Effect.scoped),
  )

  it.effect("leaves it alone for the longest time that it was asked for", () =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      yield* node.coolDown("t", { cause: "vendor", forMs: 60_000 })
      yield* node.coolDown("t", { cause: "vendor", forMs: 1000 })
      yield* TestClock.adjust(59_999)
      expect(node.coolingDown("t", "nothing")?.untilMs).toBe(60_000)
    }).pipe(Effect.scoped),
  )

  it.effect("forgets a failed call in the hour after the last", () =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      yield* call(node, "t", false)
      yield* TestClock.adjust("59 minutes")
      expect(node.isSuspect("t")).toBe(true)
      yield* TestClock.adjust("2 minutes")
      expect(node.isSuspect("t")).toBe(false)
    }).pipe(Effect.scoped),
  )

  it.effect("suspects a target from a failed call until one that works: only then the breaker is asked", () =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      expect(node.isSuspect("t")).toBe(false)
      yield* call(node, "t", false)
      expect(node.isSuspect("t")).toBe(true)
      yield* call(node, "t", true)
      expect(node.isSuspect("t")).toBe(false)
    }).pipe(Effect.scoped),
  )

  it.effect("cools a target down whose calls fail, for a second, then two, up to half a minute", () =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      const outcomes: Array<string> = []
      for (let at = 0; at < 6; at++) outcomes.push(yield* call(node, "t", false))
      expect(outcomes).toEqual(["broken", "broken", "broken", "broken", "broken", "breaker"])
      for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
        yield* TestClock.adjust(seconds * 1000 - 1)
        expect(yield* call(node, "t", true)).toBe("breaker")
        yield* TestClock.adjust(1)
        expect(yield* call(node, "t", false)).toBe("broken")
      }
      yield* TestClock.adjust("30 seconds")
      expect(yield* call(node, "t", true)).toBe("ok")
      expect(yield* call(node, "other", true)).toBe("ok")
    }).pipe(Effect.scoped),
  )

  it.effect("calls a target despite its breaker where nobody else is left, and never despite its vendor", () =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      for (let at = 0; at < 6; at++) yield* call(node, "t", false)
      expect(yield* call(node, "t", true)).toBe("breaker")
      expect(yield* call(node, "t", true, "guess")).toBe("ok")
      yield* node.coolDown("t", { cause: "vendor", forMs: 1000 })
      expect(yield* call(node, "t", true, "guess")).toBe("vendor")
      yield* TestClock.adjust(1000)
      expect(yield* call(node, "t", true, "guess")).toBe("ok")
    }).pipe(Effect.scoped),
  )
})

describe("a target that its vendor refuses", () => {
  const refused = { cause: "refused", reason: "credential" } as const
  const busy = { cause: "busy" } as const

  it.effect.each([
    [refused, [30, 60, 120, 240, 480, 600, 600]],
    [busy, [1, 2, 4, 8, 16, 32, 60, 60]],
  ] as const)("cools down at once, longer each time: %o", ([why, lengths]) =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      for (const seconds of lengths) {
        yield* node.coolDown("t", why)
        // Calls that began before are refused too.
        yield* node.coolDown("t", why)
        yield* TestClock.adjust(seconds * 1000 - 1)
        expect(node.coolingDown("t", "nothing")).toMatchObject(why)
        yield* TestClock.adjust(1)
        expect(node.coolingDown("t", "nothing")).toBeUndefined()
      }
      expect(yield* call(node, "t", true)).toBe("ok")
      yield* node.coolDown("t", why)
      yield* TestClock.adjust((lengths[0] ?? 0) * 1000)
      expect(node.coolingDown("t", "nothing")).toBeUndefined()
    }).pipe(Effect.scoped),
  )

  it.effect("is tried with one call, and a call that works is told", () =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      const turns: Array<object> = []
      yield* Effect.forkScoped(
        Stream.runForEach(node.turns, (turn) => Effect.sync(() => turns.push(turn))),
        { startImmediately: true },
      )
      yield* TestClock.adjust(1)
      yield* node.coolDown("t", refused)
      yield* TestClock.adjust("30 seconds")
      const opened = yield* Deferred.make<string>()
      const trial = yield* Effect.forkScoped(node.begin("t", Deferred.await(opened), { judge, despite: "nothing" }), {
        startImmediately: true,
      })
      expect(yield* call(node, "t", true)).toBe("refused")
      yield* Deferred.succeed(opened, "ok")
      expect(yield* Fiber.join(trial)).toBe("ok")
      expect(yield* call(node, "t", true)).toBe("ok")
      expect(node.isSuspect("t")).toBe(false)
      yield* TestClock.adjust(1)
      expect(turns).toEqual([
        { target: "t", isDown: true, reason: "credential" },
        { target: "t", isDown: false },
      ])
    }).pipe(Effect.scoped),
  )

  it.effect("is tried again after a trial that said nothing, and at once after credentials have changed", () =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      yield* node.coolDown("t", refused)
      expect(yield* call(node, "t", true)).toBe("refused")
      node.inForce({})
      expect(yield* call(node, "t", false)).toBe("broken")
      expect(yield* call(node, "t", true)).toBe("ok")
    }).pipe(Effect.scoped),
  )

  it.effect("is called where every other is refused too, and then works again; a busy one is not", () =>
    Effect.gen(function* () {
      const node = yield* makeNode(undefined)
      yield* node.coolDown("t", refused)
      yield* node.coolDown("busy", busy)
      expect(yield* call(node, "t", true, "guess")).toBe("refused")
      // One 429 may have been the last; a second in a row is respected.
      expect(node.coolingDown("busy", "guess")).toBeUndefined()
      yield* node.coolDown("busy", busy, "guess")
      yield* node.coolDown("busy", busy, "guess")
      expect(node.coolingDown("busy", "refused")).toMatchObject({ cause: "busy", untilMs: 2000 })
      expect(yield* call(node, "busy", true, "refused")).toBe("busy")
      expect(yield* call(node, "t", true, "refused")).toBe("ok")
      expect(yield* call(node, "t", true)).toBe("ok")
    }).pipe(Effect.scoped),
  )
})

describe("two nodes", () => {
  it.effect("share what a vendor refuses, and how often it did", () =>
    Effect.gen(function* () {
      const board = makeBoard()
      const [one, two] = [yield* makeNode(board), yield* makeNode(board)]
      yield* one.coolDown("t", { cause: "refused", reason: "credit" })
      yield* TestClock.adjust("250 millis")
      expect(two.coolingDown("t", "nothing")).toMatchObject({ cause: "refused", reason: "credit" })
      yield* TestClock.adjust("30 seconds")
      yield* two.coolDown("t", { cause: "refused", reason: "credit" })
      yield* TestClock.adjust("59 seconds")
      expect(two.coolingDown("t", "nothing")).toBeDefined()
      expect(one.coolingDown("t", "nothing")).toBeDefined()
    }).pipe(Effect.scoped),
  )

  it.effect("share what a vendor asked for, and what a breaker found", () =>
    Effect.gen(function* () {
      const board = makeBoard()
      const [one, two] = [yield* makeNode(board), yield* makeNode(board)]
      yield* one.coolDown("asked", { cause: "vendor", forMs: 5000 })
      for (let at = 0; at < 5; at++) yield* call(one, "failing", false)
      yield* TestClock.adjust("250 millis")
      expect(yield* call(two, "asked", true)).toBe("vendor")
      expect(yield* call(two, "failing", true)).toBe("breaker")
      yield* TestClock.adjust("750 millis")
      expect(yield* call(two, "failing", true)).toBe("ok")
      yield* TestClock.adjust("4 seconds")
      expect(yield* call(two, "asked", true)).toBe("ok")
    }).pipe(Effect.scoped),
  )
})

const onRedis = (redisUrl: Redacted.Redacted) =>
  describe("two nodes on Redis", () => {
    const node = Effect.map(
      Layer.build(
        Layer.fresh(layerRedis.pipe(Layer.provide(Redis.layer), Layer.provide(layerTestConfig({ redisUrl })))),
      ),
      (services) => Effect.runSync(Effect.provide(Health, services)),
    )

    it.live("share what a vendor asked for, and what a breaker found", () =>
      Effect.gen(function* () {
        const target = randomUUID()
        const [one, two] = [yield* node, yield* node]
        yield* one.coolDown(target, { cause: "vendor", forMs: 2500 })
        yield* Effect.sleep("1200 millis")
        expect(yield* call(two, target, true)).toBe("vendor")
        // Each of them hears of what comes later.
        const later = randomUUID()
        yield* two.coolDown(later, { cause: "vendor", forMs: 60_000 })
        yield* Effect.sleep("2 seconds")
        expect(yield* call(two, target, true)).toBe("ok")
        expect(yield* call(one, later, true)).toBe("vendor")
        // So does one that comes later.
        const three = yield* node
        yield* Effect.sleep("1 second")
        expect(yield* call(three, later, true)).toBe("vendor")
      }).pipe(Effect.scoped),
    )

    it.live.each([-90_000, 90_000])("agree when a cooldown ends, with a clock that is %i ms off", (offMs) =>
      Effect.gen(function* () {
        const live = yield* Clock.Clock
        const nowMs = () => live.currentTimeMillisUnsafe() + offMs
        const off: Clock.Clock = {
          currentTimeMillisUnsafe: nowMs,
          currentTimeMillis: Effect.sync(nowMs),
          currentTimeNanosUnsafe: () => live.currentTimeNanosUnsafe(),
          currentTimeNanos: live.currentTimeNanos,
          monotonicTimeNanosUnsafe: () => live.monotonicTimeNanosUnsafe(),
          monotonicTimeNanos: live.monotonicTimeNanos,
          sleep: (duration) => live.sleep(duration),
        }
        const one = yield* node
        const two = yield* Effect.provideService(node, Clock.Clock, off)
        const [asked, refused] = [randomUUID(), randomUUID()]
        yield* one.coolDown(asked, { cause: "vendor", forMs: 2500 })
        yield* one.coolDown(refused, { cause: "refused", reason: "model" })
        yield* Effect.sleep("1200 millis")
        expect(two.coolingDown(asked, "nothing")).toBeDefined()
        const leftMs = (two.coolingDown(refused, "nothing")?.untilMs ?? 0) - nowMs()
        expect(leftMs).toBeGreaterThan(27_000)
        expect(leftMs).toBeLessThan(30_000)
        yield* Effect.sleep("2 seconds")
        expect(two.coolingDown(asked, "nothing")).toBeUndefined()
      }).pipe(Effect.scoped),
    )

    it.live("a node that has asked a target with success does not learn its own refusal again", () =>
      Effect.gen(function* () {
        const one = yield* node
        const target = randomUUID()
        yield* one.coolDown(target, { cause: "refused", reason: "credential" })
        expect(yield* call(one, target, true, "refused")).toBe("ok")
        yield* Effect.sleep("600 millis")
        expect(one.coolingDown(target, "nothing")).toBeUndefined()
      }).pipe(Effect.scoped),
    )
  })

const redisUrl = testRedisUrl()
if (redisUrl !== undefined) onRedis(redisUrl)
