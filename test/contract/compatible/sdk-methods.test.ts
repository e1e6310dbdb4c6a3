/** The page of the SDKs' methods says what the gateway does. */
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { startCalledGateway } from "../../../scripts/sdk-methods/gateway.ts"
import { pageFile, pageOf } from "../../../scripts/sdk-methods/page.ts"
import { makeTables, type SdkTable } from "../../../scripts/sdk-methods/table.ts"

let tables: ReadonlyArray<SdkTable> = []
beforeAll(async () => {
  tables = await Effect.runPromise(
    Effect.scoped(Effect.flatMap(startCalledGateway, (gateway) => Effect.promise(() => makeTables(gateway)))),
  )
  // More than 900 methods are called, one after the other.
}, 300_000)

describe("the methods of the SDKs", () => {
  it("are as their page says: npm run sdk-methods", () => {
    expect(pageOf(tables)).toBe(readFileSync(pageFile, "utf8"))
  })

  it("are found, all of them", () => {
    expect(tables.flatMap(({ rows }) => rows).length).toBeGreaterThan(500)
    for (const { rows } of tables) expect(rows.filter(({ route }) => route === "")).toEqual([])
  })

  it("that administer a vendor's account are refused, each by its name", () => {
    const account = tables.flatMap(({ ofAccount }) => ofAccount)
    expect(account.length).toBeGreaterThan(300)
    expect(account.filter(({ outcome }) => outcome.kind !== "refused")).toEqual([])
  })
})
