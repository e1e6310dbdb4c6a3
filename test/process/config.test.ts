/** `weir config`, and the reference of variables that is made from the same table. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { readMeanings, referenceFile, referenceText } from "../../scripts/variables.ts"
import { meanings } from "../../src/variable-meanings.ts"
import { useCommands } from "../support/use-commands.ts"

const Rows = Schema.Array(
  Schema.Struct({
    name: Schema.String,
    value: Schema.String,
    default: Schema.String,
    from: Schema.String,
    meaning: Schema.String,
  }),
)

describe("weir config", () => {
  const { run, dir } = useCommands()
  const rowsOf = async (env: Record<string, string>) => {
    const { text } = await run(["config", "--json"], env)
    return new Map(Schema.decodeUnknownSync(Rows)(JSON.parse(text)).map((row) => [row.name, row]))
  }

  it("says of each variable what it is, where that comes from, and what it means; secrets are not shown", async () => {
    const file = join(dir(), "redis")
    writeFileSync(file, "redis://127.0.0.1")
    const rows = await rowsOf({
      SVC_UPSTREAM_TTFB_TIMEOUT_MS: "60s",
      SVC_MASTER_KEY: "secret of many words",
      SVC_REDIS_URL_FILE: file,
      SVC_OTLP_URL: "http://me:hidden@collector:4318",
    })
    expect(rows.get("SVC_UPSTREAM_TTFB_TIMEOUT_MS")).toMatchObject({ value: "60s", from: "environment" })
    expect(rows.get("SVC_DRAIN_TIMEOUT_MS")).toMatchObject({ value: "30000", default: "30000", from: "default" })
    expect(rows.get("SVC_MASTER_KEY")).toMatchObject({ value: "(set)", from: "environment" })
    expect(rows.get("SVC_REDIS_URL")).toMatchObject({ value: file, from: "file" })
    expect(rows.get("SVC_OTLP_URL")).toMatchObject({ value: "http://…@collector:4318" })
    expect(rows.get("SVC_ENV")?.meaning).toMatch(/^Environment of the deployment/)
    expect([...rows.values()].filter(({ meaning }) => meaning === "")).toEqual([])
    expect(JSON.stringify([...rows])).not.toMatch(/many words|hidden/)
  })

  it("is a table for people", async () => {
    expect((await run(["config"])).text).toMatch(/^VARIABLE +VALUE +DEFAULT +FROM +MEANING\nSVC_ENV +development/)
  })

  it("tells, after the table, what a start would refuse and which names are unknown", async () => {
    const { code, text } = await run(["config"], {
      SVC_UPSTREAM_TTFB_TIMEOUT_MS: "0",
      SVC_PLAN_GATE_MODE: "OFF",
      SVC_UPSTREAM_TTFB_TIMEOUT: "60s",
    })
    expect(code).toBe(1)
    expect(text).toMatch(/^SVC_DRAIN_TIMEOUT_MS +30000/m)
    expect(text).toContain(
      "SVC_UPSTREAM_TTFB_TIMEOUT is not a variable of Weir; did you mean SVC_UPSTREAM_TTFB_TIMEOUT_MS?",
    )
    expect((await run(["config"])).code).toBe(0)
  })

  it.each([
    ["SVC_MEDIA_DISK_BYTES", "17179869184"],
    ["SVC_DATABASE_CONNECTIONS", "1"],
    ["SVC_IDEMPOTENCY_TTL_S", "3600"],
    ["SVC_PUBLIC_URL", "https://weir.example.com:8443/genai"],
    ["SVC_BASE_PATH", "/genai/v1.2/..gw"],
  ])("takes %s=%s", async (name, value) => {
    expect((await run(["config"], { [name]: value })).code).toBe(0)
  })

  it.each([
    ["SVC_MEDIA_DISK_BYTES", "0"],
    ["SVC_DATABASE_CONNECTIONS", "0"],
    ["SVC_DATABASE_CONNECTIONS", "-3"],
    ["SVC_IDEMPOTENCY_TTL_S", "0"],
    ["SVC_IDEMPOTENCY_TTL_S", "99999999999"],
    ["SVC_PUBLIC_URL", "https://user:secret@weir.example.com"],
    ["SVC_PUBLIC_URL", "https://weir.example.com:99999"],
    ["SVC_PUBLIC_URL", "https://weir.example.com/a/../b"],
    ["SVC_BASE_PATH", "/genai/.."],
    ["SVC_BASE_PATH", "/./genai"],
  ])("refuses %s=%s", async (name, value) => {
    const { code, text } = await run(["config"], { [name]: value })
    expect(code).toBe(1)
    expect(text).not.toContain("secret@")
  })

  it("has the meanings of the table in src/config.ts, and so has the reference", async () => {
    expect(meanings, "run node scripts/variables.ts").toEqual(readMeanings())
    expect(readFileSync(referenceFile, "utf8"), "run node scripts/variables.ts").toBe(await referenceText())
  })
})
