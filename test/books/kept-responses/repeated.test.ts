/** A lost response that another call takes: once, only if nothing was billed, and then the first call bills nothing. */
import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BackgroundStore } from "../../../src/kept-responses/background-store.ts"
import { keptResponseId, requestOfResponse } from "../../../src/kept-responses/response-id.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import type { KeptFacts } from "../../../src/money/settlement.ts"
import { dateOf } from "../../../src/protocol/values/instant.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { expectSound, fund, holdOf, makeTestDatabase, record, settlementOf, unit } from "../../support/books.ts"

const services = Layer.merge(Ledger.layer, BackgroundStore.layer).pipe(Layer.provideMerge(makeTestDatabase()))

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("a lost response", (it) => {
  const newRef = () => `req_${randomUUID().slice(0, 16)}`
  /** A response that has begun, and whose lease is over. */
  const begun = Effect.fnUntraced(function* (asked?: string) {
    const orgId = yield* fund(10n * unit)
    const { begin } = yield* BackgroundStore
    const ref = newRef()
    const facts: KeptFacts = {
      ...{ id: keptResponseId(ref, Date.now()), day: dateOf(Date.now()), app: "a", person: "", endUser: "" },
      ...{ model: "main", state: "completed", eraseAt: Date.now() + 86_400_000, items: [], sealed: "eA==" },
      ...{ background: true, again: { key: "key", sealed: "eQ==" } },
      ...(asked !== undefined && { asked: { key: "key", request: asked, hash: "eA==" } }),
    }
    yield* begin(orgId, facts, -1000)
    const { id } = facts
    const again = newRef()
    return { orgId, id, ref, again, named: { orgId, id }, facts, requestId: asked ?? ref }
  })
  const lostOf = Effect.fnUntraced(function* (id: string) {
    return (yield* (yield* BackgroundStore).lost(1000)).find((each) => each.id === id)
  })
  const stateOf = Effect.fnUntraced(function* (orgId: string, id: string) {
    const [row] = yield* (yield* Shards).of(orgId).run(
      ({ sql, books }) => sql<{ state: string; request: Uint8Array | null }>`
        select state, request from ${books}responses where org_id = ${orgId} and id = ${id}`,
    )
    return row
  })

  it.effect.each([undefined, "asked-by-its-client"])("is taken once, and billed once: request id %s", (asked) =>
    Effect.gen(function* () {
      const { hold, settle, balance, checkpoint } = yield* Ledger
      const { repeat, renew, end } = yield* BackgroundStore
      const { orgId, id, ref, again, named, facts, requestId } = yield* begun(asked)
      const first = yield* hold({ ...holdOf(orgId, unit, requestId), ref })
      yield* checkpoint([{ hold: first, settlement: undefined }])
      expect(yield* lostOf(id)).toMatchObject({ ref, counts: undefined, again: { keyId: "key" }, requestId })
      expect(yield* repeat(named, again, 60_000)).toEqual({ _tag: "Taken", part: 0 })
      expect(yield* repeat(named, newRef(), 60_000)).toEqual({ _tag: "Gone" })
      expect(yield* lostOf(id)).toBeUndefined()
      // The first call can neither renew, fail, checkpoint nor bill it.
      expect([...(yield* renew([{ orgId, id, ref }], 60_000))]).toEqual([])
      expect([...(yield* renew([{ orgId, id, ref: again }], 60_000))]).toEqual([id])
      const sealed = { orgId, id, content: Buffer.from("x"), object: undefined }
      expect(yield* end(sealed, "failed", ref)).toBe(false)
      const second = yield* hold({ ...holdOf(orgId, unit, requestId), ref: again })
      yield* checkpoint([{ hold: second, settlement: undefined }])
      yield* checkpoint([{ hold: first, settlement: { cost: unit, record } }])
      yield* settle({ ...settlementOf(first, unit), kept: facts })
      expect(yield* balance(orgId, "USD")).toBe(10n * unit)
      expect(yield* stateOf(orgId, id)).toEqual({ state: "in_progress", request: null })
      yield* settle({ ...settlementOf(second, unit), kept: facts })
      expect(yield* stateOf(orgId, id)).toEqual({ state: "completed", request: null })
      expect(yield* balance(orgId, "USD")).toBe(9n * unit)
      yield* expectSound(orgId)
    }),
  )

  it.effect("is not taken if its checkpoint has a bill, whose counts are known", () =>
    Effect.gen(function* () {
      const { hold, checkpoint, settle } = yield* Ledger
      const { repeat } = yield* BackgroundStore
      const { orgId, id, ref, again, named } = yield* begun()
      const held = yield* hold({ ...holdOf(orgId, unit, ref), ref })
      yield* checkpoint([{ hold: held, settlement: { cost: unit, record } }])
      expect((yield* lostOf(id))?.counts).toMatchObject({ inTokens: 1, outTokens: 2, dims: { reasoning: 1 } })
      expect(yield* repeat(named, again, 60_000)).toEqual({ _tag: "Spent" })
      yield* settle(settlementOf(held, unit))
      expect((yield* repeat(named, again, 60_000))._tag).toBe("Spent")
    }),
  )

  it.effect("is not taken while its node has its lease", () =>
    Effect.gen(function* () {
      const { repeat, renew } = yield* BackgroundStore
      const { orgId, id, ref, again, named } = yield* begun()
      yield* renew([{ orgId, id, ref }], 60_000)
      expect((yield* repeat(named, again, 60_000))._tag).toBe("Gone")
      expect(requestOfResponse(id)).toBe(ref)
    }),
  )
})
