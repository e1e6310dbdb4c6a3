/** The objects of kept responses in the books: named with the settlement, or given up. */
import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Ledger } from "../../../src/money/ledger.ts"
import type { KeptFacts } from "../../../src/money/settlement.ts"
import { dateOf } from "../../../src/protocol/values/instant.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { fund, holdOf, makeTestDatabase, settlementOf, unit } from "../../support/books.ts"

const services = Ledger.layer.pipe(Layer.provideMerge(makeTestDatabase()))

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("objects of kept responses", (it) => {
  const newObject = () => randomUUID().replaceAll("-", "").repeat(2)
  const keptWith = (object: string, more: Partial<KeptFacts> = {}): KeptFacts => {
    const days = Math.floor(Date.now() / 86_400_000)
    const id = `resp_${randomUUID().slice(0, 16)}${days.toString(36).padStart(4, "0")}`
    const owner = { app: "a", person: "", endUser: "" }
    const eraseAt = Date.now() + 86_400_000
    const facts = { id, day: dateOf(Date.now()), ...owner, model: "main", state: "completed", eraseAt } as const
    return { ...facts, items: [], sealed: "", object: { id: object, bytes: 5_000_000_000 }, ...more }
  }
  const begin = Effect.fnUntraced(function* (orgId: string, object: string) {
    yield* (yield* Shards).of(orgId).run(({ sql, books }) => sql`select ${books}object_begin(${orgId}, ${object})`)
  })
  const stateOf = Effect.fnUntraced(function* (orgId: string, object: string) {
    const [row] = yield* (yield* Shards).of(orgId).run(
      ({ sql, books }) => sql<{ state: string }>`
          select state from ${books}content_objects where org_id = ${orgId} and id = ${object}`,
    )
    return row?.state
  })
  const rowsOf = Effect.fnUntraced(function* (orgId: string) {
    return yield* (yield* Shards).of(orgId).run(
      ({ sql, books }) => sql<{ object: string; bytes: number }>`
          select object_id as object, object_bytes::float8 as bytes from ${books}responses where org_id = ${orgId}`,
    )
  })

  it.effect("are named by the commit that bills, once", () =>
    Effect.gen(function* () {
      const { hold, settle, balance } = yield* Ledger
      const orgId = yield* fund(10n * unit)
      const object = newObject()
      yield* begin(orgId, object)
      const held = yield* hold(holdOf(orgId, unit))
      const settlement = { ...settlementOf(held, unit), kept: keptWith(object) }
      yield* settle(settlement)
      yield* settle(settlement)
      expect(yield* stateOf(orgId, object)).toBe("named")
      expect(yield* rowsOf(orgId)).toEqual([{ object, bytes: 5_000_000_000 }])
      expect(yield* balance(orgId, "USD")).toBe(9n * unit)
    }),
  )

  it.effect("of a second exchange with the same request id are not named", () =>
    Effect.gen(function* () {
      const { hold, settle } = yield* Ledger
      const orgId = yield* fund(10n * unit)
      const [first, second] = [newObject(), newObject()]
      const holds = [yield* hold(holdOf(orgId, unit, "same")), yield* hold(holdOf(orgId, unit, "same"))]
      for (const [at, object] of [first, second].entries()) {
        yield* begin(orgId, object)
        const held = holds[at]
        if (held !== undefined) yield* settle({ ...settlementOf(held, unit), kept: keptWith(object) })
      }
      expect([yield* stateOf(orgId, first), yield* stateOf(orgId, second)]).toEqual(["named", "storing"])
      expect((yield* rowsOf(orgId)).map(({ object }) => object)).toEqual([first])
    }),
  )

  it.effect("that were given up meanwhile are named by no row, and the call is billed", () =>
    Effect.gen(function* () {
      const { hold, settle, balance } = yield* Ledger
      const orgId = yield* fund(10n * unit)
      const [object, item, other] = [newObject(), newObject(), newObject()]
      const { of } = yield* Shards
      for (const each of [object, item, other]) yield* begin(orgId, each)
      yield* of(orgId).run(
        ({ sql, books }) => sql`
        update ${books}content_objects set created_at = now() - interval '2 hours' where id = any(${[object, item]}::text[])`,
      )
      yield* of(orgId).run(({ sql, books }) => sql`select * from ${books}objects_to_remove(1000, 3600000)`)
      yield* of(orgId).run(
        ({ sql, books }) => sql`
          insert into ${books}conversations (org_id, id, app_id, person_id, end_user_id, erase_at, metadata)
          values (${orgId}, 'talk', 'a', '', '', now() + interval '1 day', '')`,
      )
      const held = yield* hold(holdOf(orgId, unit))
      const named = (id: string, object: string) => ({ id, sealed: "", object: { id: object, bytes: 70_000 } })
      const items = [named("one", item), named("two", other), { id: "three", sealed: "eA==" }]
      const kept = keptWith(object, { conversation: { id: "talk", items } })
      yield* settle({ ...settlementOf(held, unit), kept })
      expect(yield* rowsOf(orgId)).toEqual([])
      const left = yield* of(orgId).run(
        ({ sql, books }) => sql`
          select id, place::int, object_id as object from ${books}conversation_items where org_id = ${orgId} order by place`,
      )
      expect(left).toEqual([
        { id: "two", place: 1, object: other },
        { id: "three", place: 2, object: null },
      ])
      expect(yield* stateOf(orgId, other)).toBe("named")
      expect(yield* balance(orgId, "USD")).toBe(9n * unit)
    }),
  )
})
