/** The gateway finds an organisation's shard as PostgreSQL does. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { layerDatabase } from "../../../src/store/database.ts"
import { indexFor, keyIn } from "../../../src/store/shards/placement.ts"
import { textHash } from "../../../src/store/shards/text-hash.ts"
import { layerTestConfig, layerTestDatabases } from "../../../src/testing/stores.ts"
import { randomOf } from "../../support/random.ts"

const database = layerDatabase.pipe(Layer.provide(Layer.mergeAll(layerTestConfig(), layerTestDatabases)))

describe("the hash of a text", () => {
  it.effect("is PostgreSQL's, of every length and of characters of every width", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const texts = [
        ...Array.from({ length: 64 }, (_, length) => "ab".repeat(32).slice(0, length)),
        ...Array.from({ length: 3000 }, randomText),
      ]
      const rows = yield* sql<{ text: string; hash: number }>`
        select x as text, hashtext(x) as hash from json_array_elements_text(${JSON.stringify(texts)}::text::json) x`
      expect(rows.length).toBe(texts.length)
      for (const { text, hash } of rows) expect(textHash(text), JSON.stringify(text)).toBe(hash)
    }).pipe(Effect.provide(database)),
  )
})

const random = randomOf(1)
const characters = [..."az09_-.:/ äß€漢字😀\u0001\u007f"]
const randomText = (): string =>
  Array.from({ length: Math.floor(random() * 60) }, () => characters[Math.floor(random() * characters.length)]).join("")

/** The whole range in equal parts, as Citus divides it. */
const divided = (count: number) =>
  Array.from({ length: count }, (_, at) => {
    const size = Math.floor(2 ** 32 / count)
    const min = -(2 ** 31) + at * size
    return { min, max: at === count - 1 ? 2 ** 31 - 1 : min + size - 1 }
  })

describe("a shard", () => {
  it("has the organisations whose hash is in its range", () => {
    for (const count of [1, 2, 3, 7, 8, 32, 1024]) {
      const shards = divided(count)
      for (let n = 0; n < 500; n++) {
        const org = `org_${n}`
        const { min = 1, max = 0 } = shards[indexFor(shards, org)] ?? {}
        expect(textHash(org)).toBeGreaterThanOrEqual(min)
        expect(textHash(org)).toBeLessThanOrEqual(max)
      }
    }
  })

  it("has a key in its range that no organisation can have", () => {
    const shards = divided(256)
    const keys = shards.map(({ min, max }) => keyIn(min, max))
    expect(new Set(keys).size).toBe(256)
    for (const [at, key] of keys.entries()) expect(indexFor(shards, key)).toBe(at)
    for (const key of keys) expect(key).toMatch(/^@\d+$/)
  })
})
