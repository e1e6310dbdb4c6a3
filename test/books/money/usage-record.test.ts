/** The usage record is described once: the books, the journal and the wire have what the description says, and nothing else. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { openJournal } from "../../../src/money/journal/journal.ts"
import { readJournal } from "../../../src/money/journal/read-journal.ts"
import type { Settlement } from "../../../src/money/settlement.ts"
import { type UsageRecord, usageColumns } from "../../../src/money/usage-record.ts"
import { columnOf, usageFields } from "../../../src/protocol/control/usage-record.ts"
import { useGateway } from "../../support/gateway.ts"

const folder = mkdtempSync(join(tmpdir(), "weir-usage-record-"))
afterAll(() => rmSync(folder, { recursive: true }))
const gateway = useGateway()

/** A record with each field that a call knows. */
const record: Required<UsageRecord> = {
  appId: "app",
  sessionId: "session",
  purpose: "chat",
  model: "main",
  vendor: "one",
  counts: {
    inTokens: 9_007_199_254_740_991,
    outTokens: 2,
    cacheReadTokens: 3,
    cacheWriteTokens: 4,
    dims: { images: 1 },
  },
  tierMs: { connect: 1, ttfb: 2, idle: 3, total: 4 },
  estimatedReason: "gateway_lost",
  stop: "end",
  cacheNetSaving: 12_345_678_901_234_567_890n,
  region: "eu-west-1",
  tags: { feature: "rank" },
  batchId: "batch",
  policies: [{ policy: "mails", at: "request", count: 2, did: "masked" }],
}
const settlement: Settlement = {
  hold: { ref: "req_1", orgId: "org", currency: "USD", keyId: "key", day: "2026-11-28", node: "n", amount: 1n },
  atMs: Date.now(),
  cost: 5n,
  record,
}

describe("the usage record", () => {
  it("has a column of the books for each field, and each column a field", async () => {
    const columns = await Effect.runPromise(
      gateway().sql<{ name: string }>`
        select column_name::text as name from information_schema.columns
        where table_name = 'usage_records' and table_schema = current_schema()`,
    )
    // `place` is the order in which exports read records.
    expect(columns.map(({ name }) => name).sort()).toEqual([...Object.keys(usageFields).map(columnOf), "place"].sort())
  })

  it("is whole in the journal", async () => {
    const kept = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const journal = yield* openJournal(folder)
          yield* journal.append(settlement)
          const [name = ""] = readdirSync(folder).filter((file) => file.endsWith(".journal"))
          return readJournal(join(folder, name)).settlements
        }),
      ),
    )
    expect(kept.map(({ record }) => record)).toEqual([record])
  })

  it("fills a column with each field that a call knows", () => {
    const ofBooks = ["at", "ref", "orgId", "keyId", "requestId", "source", "cost", "currency"]
    const own = Object.keys(usageFields).filter((field) => !ofBooks.includes(field))
    expect(Object.keys(usageColumns(record)).sort()).toEqual(own.map(columnOf).sort())
  })
})
