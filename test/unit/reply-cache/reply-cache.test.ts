/** A store of replies that is slow or down costs no call more than 20 ms, and fails none. */
import { Effect, Layer } from "effect"
import { describe, expect, it } from "vitest"
import { WeirConfig } from "../../../src/config.ts"
import { Flight } from "../../../src/reply-cache/flights.ts"
import { ReplyCache } from "../../../src/reply-cache/reply-cache.ts"
import { ReplyStore } from "../../../src/reply-cache/store.ts"
import { layerMemory } from "../../../src/reply-cache/store-memory.ts"
import { ChangeFeed } from "../../../src/store/change-feed.ts"
import { makeSealer, Sealing } from "../../../src/store/seal.ts"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"

const feed = Layer.succeed(
  ChangeFeed,
  ChangeFeed.of({ subscribe: () => Effect.void, note: () => Effect.void, catchUp: Effect.void, checkedAtMs: () => 0 }),
)
const withStore = (store: Layer.Layer<ReplyStore, never, WeirConfig>, changes = feed, secret = "master") =>
  ReplyCache.layer.pipe(
    Layer.provide([
      changes,
      Layer.succeed(Sealing, Sealing.of({ sealer: makeSealer(secret), isDurable: true })),
      store.pipe(Layer.provide(WeirConfig.layer)),
      WeirConfig.layer,
    ]),
  )
const cacheWith = (answer: Effect.Effect<never, StoreUnavailable>, secret?: string) => {
  const store = ReplyStore.of({ find: () => answer, keep: () => answer, clear: () => answer, forget: () => {} })
  return Effect.runPromise(Effect.provide(ReplyCache, withStore(Layer.succeed(ReplyStore, store), feed, secret)))
}

const down = Effect.fail(new StoreUnavailable({ store: "redis", cause: "down" }))
const place = { owner: "acme", model: "main", key: "mac" }
const reply = {
  facts: { isOwn: false, counts: { inTokens: 1, outTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} } },
  lines: ["{}"],
}

describe.each([
  ["is down", down],
  ["does not answer", Effect.never],
] as const)("a store that %s", (_, answer) => {
  it("is a miss after at most 20 ms, and fails nothing", async () => {
    const cache = await cacheWith(answer)
    const beganAt = performance.now()
    expect((await Effect.runPromise(cache.find(place))).kept).toBeUndefined()
    // On a machine that is busy.
    expect(performance.now() - beganAt).toBeLessThan(1000)
  })
})

it("what cannot be kept fails nothing", async () => {
  const cache = await cacheWith(down)
  await Effect.runPromise(cache.keep(place, reply, 1000, Effect.succeed("1")))
  await Effect.runPromise(cache.keep(place, reply, 1000, Effect.undefined))
})

it("is emptied on all nodes: by organisation, by model, and whole when changes were missed", async () => {
  const listeners: ((subjects: ReadonlySet<string> | "all") => void)[] = []
  const tell = (subjects: ReadonlySet<string> | "all") => {
    for (const listener of listeners) listener(subjects)
  }
  const shared = Layer.succeed(
    ChangeFeed,
    ChangeFeed.of({
      subscribe: (listener) => Effect.sync(() => void listeners.push(listener)),
      note: (subject) => Effect.sync(() => tell(new Set([subject]))),
      catchUp: Effect.void,
      checkedAtMs: () => 0,
    }),
  )
  const node = () => Effect.runPromise(Effect.provide(ReplyCache, withStore(layerMemory, shared)))
  const [one, other] = await Promise.all([node(), node()])
  const places = [place, { ...place, model: "small", key: "small" }, { ...place, owner: "zeta", key: "zeta" }]
  const keep = async () => {
    for (const each of places) {
      const { generation } = await Effect.runPromise(other.find(each))
      await Effect.runPromise(other.keep(each, reply, 60_000, generation))
    }
  }
  const found = () =>
    Promise.all(places.map(async (each) => (await Effect.runPromise(other.find(each))).kept !== undefined))
  await keep()
  expect(await found()).toEqual([true, true, true])
  await Effect.runPromise(one.clear("acme", "small"))
  expect(await found()).toEqual([true, false, true])
  await Effect.runPromise(one.clear("acme", undefined))
  expect(await found()).toEqual([false, false, true])
  await keep()
  tell("all")
  expect(await found()).toEqual([false, false, false])
})

describe("a place", () => {
  const same = { owner: "acme", model: "main", of: ["chat", { thread: [] }] }

  it("is of owner, model, and all that must be the same, and needs the key", async () => {
    const cache = await cacheWith(down)
    const { key } = cache.placeOf(same)
    expect(cache.placeOf({ ...same, of: ["chat", { thread: [] }] }).key).toBe(key)
    const others = [
      cache.placeOf({ ...same, owner: "other" }),
      cache.placeOf({ ...same, model: "other" }),
      cache.placeOf({ ...same, of: ["embedding", { thread: [] }] }),
      (await cacheWith(down, "another secret")).placeOf(same),
    ]
    expect(new Set([key, ...others.map((other) => other.key)]).size).toBe(5)
  })
})

describe("a flight", () => {
  it("can be joined until it fails or is too large, and drops what nobody waits for", async () => {
    const cache = await cacheWith(down)
    const flight = cache.lead(place)
    flight.add("one")
    expect(cache.flight(place)?.lines).toEqual(["one"])
    flight.add("x".repeat(2 * 1024 * 1024))
    expect([cache.flight(place), flight.lines]).toEqual([undefined, []])
    cache.remove(place, flight)
    const next = cache.lead(place)
    cache.remove(place, flight)
    expect(cache.flight(place)).toBe(next)
    next.fail()
    expect(cache.flight(place)).toBeUndefined()
  })

  it("keeps a large reply for those who wait already", () => {
    const flight = new Flight()
    const seen: Array<number> = []
    const stop = flight.watch(() => seen.push(flight.lines.length))
    flight.add("one")
    flight.add("x".repeat(2 * 1024 * 1024))
    stop()
    expect([seen, flight.lines.length, flight.isShared]).toEqual([[1, 2], 2, false])
  })
})
