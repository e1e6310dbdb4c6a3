/**
 * The ledger's contract: one suite for the books in PostgreSQL (embedded, or the server that the environment names) and
 * in memory.
 */
import { randomUUID } from "node:crypto"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { formatAmount } from "../../../src/money/amount.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import { RecallChannel } from "../../../src/money/recalls.ts"
import { layerMemoryStore, MemoryBooks } from "../../../src/testing/ledger-store-memory.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { dailyTokens, fund, holdOf, layerTestLedger, record, settlementOf, unit } from "../../support/books.ts"

const layerMemory = Layer.suspend(() =>
  Ledger.layerRules.pipe(
    Layer.provide(Layer.mergeAll(layerMemoryStore(new MemoryBooks()), RecallChannel.layerLocal, layerTestConfig())),
  ),
)

const failureOf = <A, E>(result: Result.Result<A, E>) => (Result.isFailure(result) ? result.failure : undefined)

for (const [name, layerLedger] of [
  ["PostgreSQL", layerTestLedger],
  ["memory", layerMemory],
] as const) {
  layer(layerLedger, { excludeTestServices: true, timeout: "60 seconds" })(`the ledger in ${name}`, (it) => {
    const balanceOf = (orgId: string) => Effect.flatMap(Ledger, ({ balance }) => balance(orgId, "USD"))

    describe("a hold", () => {
      it.effect("reserves; a settlement charges its cost, at once and once", () =>
        Effect.gen(function* () {
          const { hold, settle } = yield* Ledger
          const orgId = yield* fund(10n * unit)
          const held = yield* hold(holdOf(orgId, 4n * unit))
          expect(held.balance).toBe(10n * unit)
          const settlement = settlementOf(held, 1n * unit)
          expect(yield* settle(settlement)).toBe(9n * unit)
          expect(yield* settle(settlement)).toBe(9n * unit)
          expect(yield* balanceOf(orgId)).toBe(9n * unit)
        }),
      )

      it.effect("may be exceeded by its cost: what was used is owed, and nothing more is lent", () =>
        Effect.gen(function* () {
          const { hold, settle } = yield* Ledger
          const orgId = yield* fund(2n * unit)
          const held = yield* hold(holdOf(orgId, 2n * unit))
          expect(formatAmount(yield* settle(settlementOf(held, 3n * unit)))).toBe("-1")
          expect(failureOf(yield* Effect.result(hold(holdOf(orgId, 0n))))).toMatchObject({
            code: "insufficient_balance",
          })
        }),
      )

      it.effect("is refused beyond the balance, and without an account; then nothing is taken", () =>
        Effect.gen(function* () {
          const { hold, allotments } = yield* Ledger
          const orgId = yield* fund(unit)
          for (const request of [holdOf(orgId, unit + 1n), holdOf("org_unheard", 0n)]) {
            expect(failureOf(yield* Effect.result(hold(request)))).toMatchObject({ code: "insufficient_balance" })
          }
          yield* hold(holdOf(orgId, unit))
          expect((yield* allotments).filter((each) => each.orgId === orgId)).toMatchObject([{ free: 0n, held: unit }])
        }),
      )

      it.effect("released costs nothing; closed again, or unknown, changes nothing", () =>
        Effect.gen(function* () {
          const { hold, release, settle } = yield* Ledger
          const orgId = yield* fund(5n * unit)
          const held = yield* hold(holdOf(orgId, unit))
          yield* release(held)
          yield* release(held)
          yield* release({ ...held, ref: "never" })
          expect(yield* balanceOf(orgId)).toBe(5n * unit)
          const other = yield* hold(holdOf(orgId, 5n * unit))
          yield* settle(settlementOf(other, unit))
          yield* release(other)
          expect(yield* balanceOf(orgId)).toBe(4n * unit)
        }),
      )

      it.effect("that the node's allotment covers waits for nothing", () =>
        Effect.gen(function* () {
          const { hold, settle } = yield* Ledger
          const orgId = yield* fund(100n * unit)
          const first = yield* hold(holdOf(orgId, unit))
          yield* settle(settlementOf(first, 0n))
          const held = Effect.runSync(hold(holdOf(orgId, unit)))
          expect(held.amount).toBe(unit)
        }),
      )
    })

    describe("a request id", () => {
      it.effect("is spent once for ever: the books know it, and a second settlement bills nothing", () =>
        Effect.gen(function* () {
          const { hold, settle, requestState } = yield* Ledger
          const orgId = yield* fund(10n * unit)
          const first = yield* hold(holdOf(orgId, unit, "same"))
          const second = yield* hold(holdOf(orgId, unit, "same"))
          expect(yield* settle(settlementOf(first, unit))).toBe(9n * unit)
          expect(yield* settle(settlementOf(second, unit))).toBe(9n * unit)
          expect(yield* requestState(orgId, "key", "same")).toEqual({
            _tag: "Billed",
            ref: first.ref,
            reply: undefined,
          })
        }),
      )

      it.effect("of a running exchange is held by it from its first checkpoint on; a release frees it", () =>
        Effect.gen(function* () {
          const { hold, release, checkpoint, requestState } = yield* Ledger
          const orgId = yield* fund(10n * unit)
          const first = yield* hold(holdOf(orgId, unit, "running"))
          expect(yield* requestState(orgId, "key", "running")).toEqual({ _tag: "New" })
          yield* checkpoint([{ hold: first, settlement: { cost: unit, record } }])
          expect(yield* requestState(orgId, "key", "running")).toEqual({ _tag: "Running" })
          yield* release(first)
          expect(yield* requestState(orgId, "key", "running")).toEqual({ _tag: "New" })
        }),
      )

      it.effect("is another one with another key or organisation", () =>
        Effect.gen(function* () {
          const { hold, settle, requestState } = yield* Ledger
          const orgId = yield* fund(10n * unit)
          yield* settle(settlementOf(yield* hold(holdOf(orgId, unit, "id")), unit))
          expect(yield* requestState(orgId, "another", "id")).toEqual({ _tag: "New" })
          expect(yield* requestState(yield* fund(unit), "key", "id")).toEqual({ _tag: "New" })
        }),
      )
    })

    describe("the reply to a request id", () => {
      const sealed = Buffer.from([0, 10, 255]).toString("base64")
      const heldFor = Effect.fnUntraced(function* (requestId: string) {
        const { hold } = yield* Ledger
        return yield* hold(holdOf(yield* fund(10n * unit), unit, requestId))
      })

      it.effect("is kept by the settlement, with the balance after it, however often it is settled", () =>
        Effect.gen(function* () {
          const { hold, settle, requestState } = yield* Ledger
          const held = yield* heldFor("a")
          const settlement = { ...settlementOf(held, unit), reply: { sealed } }
          expect(yield* settle(settlement)).toBe(9n * unit)
          yield* settle(settlementOf(yield* hold(holdOf(held.orgId, unit)), unit))
          // A caller that asks again after a lost answer gets the same answer.
          expect(yield* settle(settlement)).toBe(9n * unit)
          expect(yield* requestState(held.orgId, "key", "a")).toEqual({
            _tag: "Billed",
            ref: held.ref,
            reply: { sealed, balance: 9n * unit },
          })
        }),
      )

      it.effect("is its own, however many are settled at once", () =>
        Effect.gen(function* () {
          const { hold, settle, requestState } = yield* Ledger
          const orgId = yield* fund(100n * unit)
          // Some have none, and one is empty.
          const replyOf = (n: number) =>
            n % 5 === 4 ? undefined : { sealed: Buffer.from(`${n}`.repeat(n * 37)).toString("base64") }
          const settled = yield* Effect.forEach(
            Array.from({ length: 30 }, (_, n) => n),
            (n) =>
              Effect.gen(function* () {
                const held = yield* hold(holdOf(orgId, unit, `many-${n}`))
                const reply = replyOf(n)
                yield* settle({ ...settlementOf(held, 1n), ...(reply !== undefined && { reply }) })
                return yield* requestState(orgId, "key", `many-${n}`)
              }),
            { concurrency: "unbounded" },
          )
          for (const [n, state] of settled.entries()) {
            expect(state._tag === "Billed" && state.reply?.sealed, `${n}`).toBe(replyOf(n)?.sealed)
          }
        }),
      )

      it.effect("that was told before the settlement keeps what was told, settled before or not", () =>
        Effect.gen(function* () {
          const { settle, requestState } = yield* Ledger
          const late = Buffer.from("late").toString("base64")
          for (const isSettled of [false, true]) {
            const held = yield* heldFor("a")
            const settlement = settlementOf(held, unit)
            if (isSettled) yield* settle({ ...settlement, reply: { sealed } })
            yield* settle({ ...settlement, reply: { sealed: late, told: 3n * unit } })
            expect(yield* requestState(held.orgId, "key", "a")).toMatchObject({
              reply: { sealed: late, balance: 3n * unit },
            })
          }
        }),
      )

      it.effect("of a second exchange with the same id is not kept", () =>
        Effect.gen(function* () {
          const { hold, settle, requestState } = yield* Ledger
          const first = yield* heldFor("a")
          const second = yield* hold(holdOf(first.orgId, unit, "a"))
          yield* settle({ ...settlementOf(first, unit), reply: { sealed } })
          yield* settle({ ...settlementOf(second, unit), reply: { sealed: "" } })
          expect(yield* requestState(first.orgId, "key", "a")).toMatchObject({ ref: first.ref, reply: { sealed } })
        }),
      )
    })

    describe("the daily quota", () => {
      const withQuota = (orgId: string, tokens: number, limit = 1000) => ({
        ...holdOf(orgId, 0n),
        budgets: [dailyTokens(orgId, tokens, limit)],
      })
      const tokens = (outTokens: number) => ({
        ...record,
        counts: { inTokens: 0, outTokens, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} },
      })

      it.effect("counts what runs, and is corrected at the settlement and the release", () =>
        Effect.gen(function* () {
          const { hold, settle, release } = yield* Ledger
          const orgId = yield* fund(unit)
          const first = yield* hold(withQuota(orgId, 600))
          const second = yield* hold(withQuota(orgId, 400))
          expect(failureOf(yield* Effect.result(hold(withQuota(orgId, 1))))).toMatchObject({
            code: "quota_exceeded",
            detail: { limit: 1000, used: 1000 },
          })
          yield* settle(settlementOf(first, 0n, tokens(50)))
          yield* release(second)
          yield* hold(withQuota(orgId, 950))
          expect(failureOf(yield* Effect.result(hold(withQuota(orgId, 1))))).toMatchObject({ code: "quota_exceeded" })
        }),
      )

      it.effect("is never oversold to 200 concurrent holds", () =>
        Effect.gen(function* () {
          const { hold } = yield* Ledger
          const orgId = yield* fund(unit)
          const results = yield* Effect.forEach(
            Array.from({ length: 200 }, () => withQuota(orgId, 30)),
            (request) => Effect.result(hold(request)),
            { concurrency: "unbounded" },
          )
          expect(results.filter(Result.isSuccess).length).toBe(33)
        }),
      )

      it.effect("counts what was used before there was a limit, and follows a limit that changes", () =>
        Effect.gen(function* () {
          const { hold, settle } = yield* Ledger
          const orgId = yield* fund(unit)
          yield* settle(settlementOf(yield* hold({ ...holdOf(orgId, 0n) }), 0n, tokens(700)))
          expect(failureOf(yield* Effect.result(hold(withQuota(orgId, 301))))).toMatchObject({
            detail: { limit: 1000, used: 700 },
          })
          yield* hold(withQuota(orgId, 300))
          expect(failureOf(yield* Effect.result(hold(withQuota(orgId, 1, 900))))).toMatchObject({
            detail: { limit: 900 },
          })
          yield* hold(withQuota(orgId, 1, 2000))
        }),
      )
    })

    it.effect("never sells more than the balance to 200 concurrent holds", () =>
      Effect.gen(function* () {
        const { hold, settle } = yield* Ledger
        const orgId = yield* fund(50n * unit)
        const results = yield* Effect.forEach(
          Array.from({ length: 200 }, () => holdOf(orgId, unit)),
          (request) => Effect.result(hold(request)),
          { concurrency: 32 },
        )
        const held = results.filter(Result.isSuccess)
        expect(held.length).toBe(50)
        yield* Effect.forEach(held, ({ success }) => settle(settlementOf(success, unit / 2n)), { concurrency: 32 })
        expect(yield* balanceOf(orgId)).toBe(25n * unit)
      }),
    )

    it.effect("a top-up counts once an id", () =>
      Effect.gen(function* () {
        const { topup, balance } = yield* Ledger
        const orgId = `org_${randomUUID()}`
        const credit = { id: randomUUID(), orgId, currency: "USD", amount: 7n * unit }
        expect(yield* topup(credit)).toBe(true)
        expect(yield* topup(credit)).toBe(false)
        expect(yield* balance(orgId, "USD")).toBe(7n * unit)
      }),
    )
  })
}
