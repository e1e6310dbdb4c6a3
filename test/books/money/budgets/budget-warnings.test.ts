/** Warnings of budgets: each threshold once a period, over all nodes, restarts and mails. */
import { describe, expect, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Mail, Mailer, MailFailed } from "../../../../src/identity/mailer.ts"
import { layerOwnerMail } from "../../../../src/identity/owner-mail.ts"
import { type BudgetNeed, nearWarning } from "../../../../src/money/budgets/budget.ts"
import { BudgetMail } from "../../../../src/money/budgets/budget-mail.ts"
import { BudgetWarnings } from "../../../../src/money/budgets/budget-warnings.ts"
import { Ledger } from "../../../../src/money/ledger.ts"
import { periodOfDay } from "../../../../src/money/periods.ts"
import { People } from "../../../../src/tenants/people.ts"
import { fund, holdOf, layerTestLedger, settlementOf, testBudget, unit } from "../../../support/books.ts"

const limit = 10n * unit

const needOf = (amount: bigint, day = "2026-01-01"): BudgetNeed => ({
  counter: `budget:near:money/day:subject:${day}`,
  unit: "money",
  subject: "subject",
  amount,
  period: periodOfDay(day),
  isTold: true,
  budget: {
    ...testBudget,
    id: "near",
    limit,
    thresholds: [
      { percent: 50, amount: limit / 2n },
      { percent: 80, amount: (limit * 8n) / 10n },
    ],
  },
})

const spend = (orgId: string, cost: bigint, need = needOf(cost)) =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const held = yield* ledger.hold({ ...holdOf(orgId, cost), budgets: [need] })
    yield* ledger.settle(settlementOf(held, cost))
  })

/** The warnings of a node of its own on the same database. */
const startWarnings = Effect.map(Layer.build(Layer.fresh(BudgetWarnings.layer)), Context.get(BudgetWarnings))

const audited = (orgId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ detail: { percent: number; used: string } }>`
      select detail from audit_log where org_id = ${orgId} and action = 'budget.near' order by seq`
    return rows.map(({ detail }) => [detail.percent, detail.used])
  })

const percents = (near: ReturnType<BudgetWarnings["Service"]["take"]>) => near.map(({ percent }) => percent)

layer(layerTestLedger, { excludeTestServices: true, timeout: "60 seconds" })("warnings of budgets", (it) => {
  it.effect("are given once for a threshold and period, by one of four nodes, and told to one exchange", () =>
    Effect.gen(function* () {
      const orgId = yield* fund(100n * unit)
      const nodes = yield* Effect.all([startWarnings, startWarnings, startWarnings, startWarnings])
      const lookAll = Effect.gen(function* () {
        for (const node of nodes) node.charged(orgId, "USD", [needOf(0n)])
        yield* Effect.all(
          nodes.map(({ look }) => look),
          { concurrency: "unbounded" },
        )
        return nodes.flatMap((node) => percents(node.take(orgId, [needOf(0n)])))
      })
      yield* spend(orgId, (limit * 49n) / 100n)
      expect(yield* lookAll).toEqual([])
      yield* spend(orgId, limit / 100n)
      expect(yield* lookAll).toEqual([50])
      expect(yield* lookAll).toEqual([])
      yield* spend(orgId, limit / 5n)
      expect(yield* lookAll).toEqual([])
      yield* spend(orgId, limit / 5n)
      expect(yield* lookAll).toEqual([80])
      // A node that starts now does not know the warnings of before, and does not send them again.
      const late = yield* startWarnings
      late.charged(orgId, "USD", [needOf(0n)])
      yield* late.look
      expect(late.take(orgId, [needOf(0n)])).toEqual([])
      expect(yield* audited(orgId)).toEqual([
        [50, "5"],
        [80, "9"],
      ])
      const next = needOf(limit, "2026-01-02")
      yield* spend(orgId, limit, next)
      late.charged(orgId, "USD", [next])
      yield* late.look
      // Both at once are one warning, of the higher.
      expect(percents(late.take(orgId, [next]))).toEqual([80])
    }).pipe(Effect.scoped),
  )

  it.effect("are found by themselves within a second, and not told to who may not know", () =>
    Effect.gen(function* () {
      const orgId = yield* fund(100n * unit)
      const node = yield* startWarnings
      yield* spend(orgId, limit)
      node.charged(orgId, "USD", [needOf(0n)])
      let near = node.take(orgId, [{ ...needOf(0n), isTold: false }])
      yield* Effect.sleep(1500)
      near = node.take(orgId, [{ ...needOf(0n), isTold: false }])
      expect(near).toEqual([])
      near = node.take(orgId, [needOf(0n)])
      expect(near.map(nearWarning)).toEqual([
        {
          code: "budget_near",
          message: "80 % of the budget near are used; it resets at 2026-01-01T16:00:00.000Z",
          detail: {
            budget: "near",
            scope: "org",
            subject: "subject",
            unit: "money",
            period: "day",
            percent: 80,
            resetAt: "2026-01-01T16:00:00.000Z",
          },
        },
      ])
    }).pipe(Effect.scoped),
  )

  it.effect("of budgets without thresholds, and of what was only held, there are none", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const orgId = yield* fund(100n * unit)
      const node = yield* startWarnings
      const plain = { ...needOf(limit), budget: testBudget }
      yield* ledger.hold({ ...holdOf(orgId, limit), budgets: [needOf(limit)] })
      node.charged(orgId, "USD", [needOf(0n), plain])
      yield* node.look
      expect(node.take(orgId, [needOf(0n), plain])).toEqual([])
    }).pipe(Effect.scoped),
  )

  describe("by mail", () => {
    const startMail = (orgId: string, send: NonNullable<Mailer["Service"]["send"]>) => {
      const owners = (of: string) => Effect.succeed(of === orgId ? ["one@example.com", "two@example.com"] : [])
      const parts = Layer.mergeAll(Layer.succeed(Mailer, Mailer.of({ send })), Layer.mock(People, { owners }))
      const mail = BudgetMail.layer.pipe(Layer.provide(layerOwnerMail), Layer.provide(parts))
      const built = Layer.build(Layer.fresh(mail))
      return Effect.map(built, Context.get(BudgetMail))
    }
    const dueAgain = (orgId: string) =>
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`
          update counters set mail_after = now() - interval '1 second' where org_id = ${orgId} and mail_after is not null`,
      )

    it.effect("go to the owners, once; where the server refuses, again, with the same message id", () =>
      Effect.gen(function* () {
        const orgId = yield* fund(100n * unit)
        const warnings = yield* startWarnings
        yield* spend(orgId, limit / 2n)
        warnings.charged(orgId, "USD", [needOf(0n)])
        yield* warnings.look
        const sent: Array<Mail> = []
        let isRefused = true
        const send = (mail: Mail) => {
          sent.push(mail)
          return isRefused ? Effect.fail(new MailFailed({ cause: "451" })) : Effect.void
        }
        const one = yield* startMail(orgId, send)
        const other = yield* startMail(orgId, send)
        const both = Effect.all([one.send, other.send], { concurrency: "unbounded" })
        yield* both
        expect(sent).toHaveLength(1)
        // Another node does not take it while the first may be sending it.
        yield* both
        expect(sent).toHaveLength(1)
        isRefused = false
        yield* dueAgain(orgId)
        yield* both
        yield* dueAgain(orgId)
        yield* both
        expect(sent).toHaveLength(2)
        expect(new Set(sent.map(({ id }) => id)).size).toBe(1)
        expect(sent[1]).toMatchObject({
          to: ["one@example.com", "two@example.com"],
          subject: `Budget near of ${orgId} is used to 50 %`,
        })
        expect(sent[1]?.text).toContain("Used:    5 of 10 USD this day")
        expect(sent[1]?.text).toContain("refused until then")
      }).pipe(Effect.scoped),
    )
  })
})
