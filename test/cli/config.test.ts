/** `weir config`, and the reference of variables that is made from the same table. */
import { readFileSync } from "node:fs"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { readMeanings, referenceFile, referenceText } from "../../scripts/variables.ts"
import { meanings } from "../../src/variable-meanings.ts"
import { useCommands } from "./in-process.ts"

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
  const { run } = useCommands()
  const rowsOf = async (env: Record<string, string>) => {
    const { text } = await run(["config", "--json"], env)
    return new Map(Schema.decodeUnknownSync(Rows)(JSON.parse(text)).map((row) => [row.name, row]))
  }

  it("says of each variable what it is, where that comes from, and what it means; secrets are not shown", async () => {
    const rows = await rowsOf({
      SVC_UPSTREAM_TTFB_TIMEOUT_MS: "60s",
      SVC_MASTER_KEY: "secret of many words",
      SVC_REDIS_URL_FILE: "/run/secrets/redis",
      SVC_OTLP_URL: "http://me:hidden@collector:4318",
    })
    expect(rows.get("SVC_UPSTREAM_TTFB_TIMEOUT_MS")).toMatchObject({ value: "60s", from: "environment" })
    expect(rows.get("SVC_DRAIN_TIMEOUT_MS")).toMatchObject({ value: "30000", default: "30000", from: "default" })
    expect(rows.get("SVC_MASTER_KEY")).toMatchObject({ value: "(set)", from: "environment" })
    expect(rows.get("SVC_REDIS_URL")).toMatchObject({ value: "/run/secrets/redis", from: "file" })
    expect(rows.get("SVC_OTLP_URL")).toMatchObject({ value: "http://…@collector:4318" })
    expect(rows.get("SVC_ENV")?.meaning).toMatch(/^Environment of the deployment/)
    expect([...rows.values()].filter(({ meaning }) => meaning === "")).toEqual([])
    expect(JSON.stringify([...rows])).not.toMatch(/many words|hidden/)
  })

  it("is a table for people", async () => {
    expect((await run(["config"])).text).toMatch(/^VARIABLE +VALUE +DEFAULT +FROM +MEANING\nSVC_ENV +development/)
  })

  it("has the meanings of the table in src/config.ts, and so has the reference", async () => {
    expect(meanings, "run node scripts/variables.ts").toEqual(readMeanings())
    expect(readFileSync(referenceFile, "utf8"), "run node scripts/variables.ts").toBe(await referenceText())
  })
})
