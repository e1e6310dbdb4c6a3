/**
 * An exchange as a busy installation has it: three limits, two policies, a tag, webhooks and an export, beside one with none of
 * them. The busy gateway has a database of its own on the same server, because webhooks and exports are for all its callers.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { costs, nothing, ratioByRound } from "./costs.ts"
import { drive } from "./load.ts"
import type { Scenario } from "./scenario.ts"
import { createDatabase, watchDatabase } from "./stores.ts"

const headers = { "x-svc-key-id": "key_busy", "x-svc-key": "secret" }

const parts = (folder: string): Readonly<Record<string, string>> => ({
  apps: `
  - id: app_busy
    org: org_bench
    rates: [{ requests: 100000000, per: 60s }, { tokens: 1000000000, per: 60s }, { concurrent: 10000 }]
    tags: { feature: bench }
    policies: [words, p9]`,
  keys: `
  - { id: key_busy, app: app_busy, secret: "env:WEIR_BENCH_KEY" }`,
  policies: `
  - { id: words, direction: inbound, match: { keywords: ["project blue", "codename"] }, reason: leak }`,
  webhooks: `
  - { id: ops, url: "http://127.0.0.1:9/hook", secret: "env:WEIR_BENCH_HOOK", events: [target.down, budget.near, key.created] }`,
  exports: `
  - { id: bills, to: "file://${folder}/exports", format: parquet, every: 5m }`,
})

/** The catalogue with more in some of its lists. */
const withParts = (catalogue: string, folder: string): string => {
  let text = catalogue
  for (const [list, more] of Object.entries(parts(folder))) {
    text = text.includes(`\n${list}:\n`)
      ? text.replace(`\n${list}:\n`, `\n${list}:${more}\n`)
      : `${text}${list}:${more}\n`
  }
  return text
}

export const busy: Scenario = async ({ weir, another, catalogue }, { rounds, scale }) => {
  const server = process.env["SVC_TEST_DATABASE_URL"]
  if (server === undefined) return []
  const folder = mkdtempSync(join(tmpdir(), "weir-busy-"))
  const database = watchDatabase(server)
  const own = await createDatabase(database, server)
  try {
    writeFileSync(join(folder, "catalogue.yaml"), withParts(catalogue, folder))
    const gateway = await another({
      SVC_DATABASE_URL: own.url,
      SVC_CATALOGUE: join(folder, "catalogue.yaml"),
      WEIR_BENCH_HOOK: `whsec_${Buffer.alloc(24).toString("base64")}`,
    })
    const pair = [
      { subject: weir, endpoint: weir.exchange("short") },
      { subject: gateway, endpoint: { ...gateway.exchange("short"), headers } },
    ]
    await drive(pair[1]?.endpoint ?? weir.exchange("short"), { requests: 12_000 * scale, inFlight: 32 })
    // Small differences are seen in many short rounds: the machine changes within a long one.
    const [plain = nothing, under = nothing] = await costs(pair, 1000 * scale, 32, 12 * rounds)
    const ratio = ratioByRound(under, plain)
    return [
      {
        what: "CPU that three limits, two policies, a tag, webhooks and an export add to a JSON exchange",
        unit: "µs",
        weir: plain.us * (ratio - 1),
        note: `${(plain.us * ratio).toFixed(0)} over ${plain.us.toFixed(0)}`,
        budget: { of: "value", max: 15 },
      },
    ]
  } finally {
    await own.drop()
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
