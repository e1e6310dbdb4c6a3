/** The store of kept replies: their lifetime, their owners, and bytes that reveal nothing. */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { Redis as Client } from "ioredis"
import { describe, expect, it } from "vitest"
import { WeirConfig } from "../../../src/config.ts"
import { openLines, sealLines } from "../../../src/reply-cache/kept-lines.ts"
import { type CachePlace, ReplyStore } from "../../../src/reply-cache/store.ts"
import { layerMemory } from "../../../src/reply-cache/store-memory.ts"
import { layerRedis } from "../../../src/reply-cache/store-redis.ts"
import { Redis } from "../../../src/store/redis.ts"
import { makeSealer } from "../../../src/store/seal.ts"

const redisUrl = process.env["SVC_TEST_REDIS_URL"]
const config = (more: object) =>
  Layer.effect(
    WeirConfig,
    Effect.map(WeirConfig, (known) => ({ ...known, ...more })),
  ).pipe(Layer.provide(WeirConfig.layer))

const stores = [
  ["memory", layerMemory],
  ...(redisUrl === undefined ? [] : [["Redis", layerRedis.pipe(Layer.provide(Redis.layer))] as const]),
] as const

const use = <A>(
  layer: (typeof stores)[number][1],
  run: (store: ReplyStore["Service"]) => Effect.Effect<A, unknown>,
  more: object = {},
): Promise<A> =>
  Effect.runPromise(
    Effect.flatMap(ReplyStore, run).pipe(
      Effect.provide(layer.pipe(Layer.provide(config({ redisUrl: redisUrl && Redacted.make(redisUrl), ...more })))),
    ),
  )

const place = (owner: string, model = "main", key: string = randomUUID()): CachePlace => ({ owner, model, key })
const bytes = (text: string) => Buffer.from(text)

describe.each(stores)("replies in %s", (_, layer) => {
  it("are found at their place, until their time is over", () =>
    use(layer, (store) =>
      Effect.gen(function* () {
        const here = place(randomUUID())
        const { sealed, generation } = yield* store.find(here)
        expect(sealed).toBeUndefined()
        yield* store.keep(here, bytes("one"), 200, generation)
        expect((yield* store.find(here)).sealed).toEqual(bytes("one"))
        expect((yield* store.find({ ...here, key: "other" })).sealed).toBeUndefined()
        expect((yield* store.find({ ...here, owner: randomUUID() })).sealed).toBeUndefined()
        yield* Effect.sleep(250)
        expect((yield* store.find(here)).sealed).toBeUndefined()
      }),
    ))

  it("are cleared by owner and model; what was looked for before is not kept after", () =>
    use(layer, (store) =>
      Effect.gen(function* () {
        const [owner, other] = [randomUUID(), randomUUID()]
        const places = [...Array.from({ length: 1200 }, () => place(owner)), place(owner, "second"), place(other)]
        for (const each of places) yield* store.keep(each, bytes("x"), 60_000, (yield* store.find(each)).generation)
        const [first = place(owner)] = places
        const { generation } = yield* store.find(first)
        expect(yield* store.clear(owner, "main")).toBe(1200)
        expect((yield* store.find(first)).sealed).toBeUndefined()
        yield* store.keep(first, bytes("late"), 60_000, generation)
        expect((yield* store.find(first)).sealed).toBeUndefined()
        expect(yield* store.clear(owner, undefined)).toBe(1)
        expect(yield* store.clear(owner, undefined)).toBe(0)
        expect((yield* store.find(places[1201] ?? first)).sealed).toEqual(bytes("x"))
      }),
    ))
})

describe("replies in memory", () => {
  it("are bounded: the least used go first", () =>
    use(
      layerMemory,
      (store) =>
        Effect.gen(function* () {
          const places = Array.from({ length: 30 }, () => place("acme"))
          const [first = place("acme")] = places
          for (const each of places) {
            yield* store.keep(each, Buffer.alloc(1000), 60_000, (yield* store.find(each)).generation)
            // The first reply is used again and again.
            expect((yield* store.find(first)).sealed).toBeDefined()
          }
          const kept = yield* Effect.forEach(places, (each) => store.find(each))
          const length = kept.filter(({ sealed }) => sealed !== undefined).length
          expect([length > 10, length <= 14]).toEqual([true, true])
          expect(kept.at(-1)?.sealed).toBeDefined()
        }),
      { replyCacheBytes: 20_000 },
    ))
})

describe("a place in memory", () => {
  it("takes the room of one reply, however often one is kept there", () =>
    use(
      layerMemory,
      (store) =>
        Effect.gen(function* () {
          const [other, often] = [place("acme"), place("acme")]
          const { generation } = yield* store.find(other)
          yield* store.keep(other, Buffer.alloc(1000), 60_000, generation)
          for (let at = 0; at < 100; at++) yield* store.keep(often, Buffer.alloc(1000), 60_000, generation)
          expect((yield* store.find(other)).sealed).toBeDefined()
          expect((yield* store.find(often)).sealed).toBeDefined()
        }),
      { replyCacheBytes: 20_000 },
    ))
})

describe("a sealed reply", () => {
  const facts = {
    isOwn: false,
    counts: { inTokens: 1, outTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0, dims: { reasoning: 1 } },
  }
  const lines = [JSON.stringify({ events: [{ kind: "delta", delta: { i: 0, t: "text", v: "the secret answer" } }] })]

  it("has no word of it, and opens at its place alone, with its key alone", () => {
    const sealer = makeSealer("master")
    const here = place("acme", "main", "mac")
    const sealed = sealLines(sealer, here, { facts, lines }) ?? Buffer.alloc(0)
    expect(sealed.toString("latin1")).not.toMatch(/secret|answer|delta|acme|main/)
    expect(openLines(sealer, here, sealed)).toEqual({ facts, lines })
    expect(openLines(makeSealer("master"), here, sealed)).toEqual({ facts, lines })
    expect(openLines(sealer, { ...here, owner: "other" }, sealed)).toBeUndefined()
    expect(openLines(sealer, { ...here, key: "other" }, sealed)).toBeUndefined()
    expect(openLines(makeSealer("another"), here, sealed)).toBeUndefined()
    for (let at = 0; at < sealed.length; at += 7) {
      const altered = Buffer.from(sealed)
      altered[at] = (altered[at] ?? 0) ^ 1
      expect(openLines(sealer, here, altered)).toBeUndefined()
    }
  })

  it("of more than 256 KiB is not kept", () => {
    const random = Array.from({ length: 300 }, () => JSON.stringify(randomUUID().repeat(30) + Math.random()))
    const noise = JSON.stringify(Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("base64"))
    const sealer = makeSealer("master")
    expect(sealLines(sealer, place("acme"), { facts, lines: random })).toBeDefined()
    expect(
      sealLines(sealer, place("acme"), { facts, lines: Array.from({ length: 6 }, () => noise + Math.random()) }),
    ).toBeDefined()
    const large = Array.from({ length: 6 }, () =>
      JSON.stringify(Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("base64")),
    )
    expect(sealLines(sealer, place("acme"), { facts, lines: large })).toBeUndefined()
  })
})

describe.skipIf(redisUrl === undefined)("what Redis has", () => {
  it("is neither prompt nor answer, and ends by itself", () =>
    use(stores.at(-1)?.[1] ?? layerMemory, (store) =>
      Effect.gen(function* () {
        const here = place(randomUUID())
        yield* store.keep(here, bytes("x"), 60_000, (yield* store.find(here)).generation)
        const client = new Client(redisUrl ?? "")
        const keys = yield* Effect.promise(() => client.keys(`weir:{${here.owner}}:repl*`))
        expect(keys.length).toBe(3)
        for (const key of keys) expect(yield* Effect.promise(() => client.pttl(key))).toBeGreaterThan(0)
        client.disconnect()
      }),
    ))
})
