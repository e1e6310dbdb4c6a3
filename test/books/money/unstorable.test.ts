/** A record that the books cannot store keeps no other from them. */
import { mkdtempSync, readdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { openJournal } from "../../../src/money/journal/journal.ts"
import { readJournal } from "../../../src/money/journal/read-journal.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import { fund, holdOf, layerTestNodes, record, settlementOf, startNode, unit } from "../../support/books.ts"

layer(layerTestNodes, { excludeTestServices: true, timeout: "60 seconds" })("a record that cannot be stored", (it) => {
  it.effect("is released by the reaper, and the holds of other nodes are settled", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { reap } = yield* Ledger
      const [bad, good] = [yield* fund(10n * unit), yield* fund(10n * unit)]
      // More milliseconds than the column takes.
      const unstorable = { ...record, tierMs: { total: 2 ** 31 } }
      const one = yield* startNode({ leaseMs: 300 })
      const badHold = yield* one.hold(holdOf(bad, unit))
      yield* one.checkpoint([{ hold: badHold, settlement: settlementOf(badHold, unit, unstorable) }])
      yield* one.crash
      const other = yield* startNode({ leaseMs: 300 })
      const goodHold = yield* other.hold(holdOf(good, unit))
      yield* other.checkpoint([{ hold: goodHold, settlement: settlementOf(goodHold, unit) }])
      yield* other.crash
      const settled = yield* Effect.repeat(
        Effect.andThen(
          Effect.andThen(Effect.sleep("100 millis"), reap),
          sql<{ org_id: string }>`select org_id from usage_records where org_id in (${bad}, ${good})`,
        ),
        { until: (rows) => rows.length > 0, times: 50 },
      )
      expect(settled).toEqual([{ org_id: good }])
      const open = yield* sql`select ref from holds where org_id in (${bad}, ${good}) and state = 'open'`
      expect(open).toEqual([])
    }),
  )

  it.effect("is not written to the journal, and later ones are", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "weir-journal-"))
      const journal = yield* openJournal(folder)
      const settlement = (ref: string, inTokens: number) => ({
        hold: { ref, orgId: "o", currency: "USD", keyId: "k", day: "2026-11-28", node: "n", amount: 1n },
        atMs: 1_700_000_000_000,
        cost: 1n,
        record: { ...record, counts: { ...record.counts, inTokens } },
      })
      expect(yield* journal.append(settlement("bad", 2 ** 53))).toBe(false)
      expect(yield* journal.append(settlement("good", 5))).toBe(true)
      const [name = ""] = readdirSync(folder).filter((file) => file.endsWith(".journal"))
      expect(readJournal(join(folder, name)).settlements.map(({ hold }) => hold.ref)).toEqual(["good"])
      for (const ref of ["bad", "good"]) yield* journal.settled(ref)
    }),
  )
})
