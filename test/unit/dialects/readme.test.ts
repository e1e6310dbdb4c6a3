/** The tables of vendors and of profiles are complete. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { withTables } from "../../../scripts/docs/vendor-table.ts"
import { ChatProfileName, DialectName } from "../../../src/protocol/catalogue/vendor.ts"

const readme = readFileSync(new URL("../../../src/docs/reference/dialects.md", import.meta.url), "utf8")
const profiles = readme.slice(readme.indexOf("| `profile`"))
const rows = [...profiles.matchAll(/^\| `([a-z]+)` +\|/gm)].map(([, name]) => name).filter((name) => name !== "profile")

describe("src/docs/reference/dialects.md", () => {
  it("has a row for each profile, and no other", () => {
    expect(rows.sort()).toEqual([...ChatProfileName.literals].sort())
  })

  it("has the table of the code: vendors, kinds and ways to sign in", () => {
    expect(withTables(readme)).toBe(readme)
  })

  it.each(DialectName.literals)("names the dialect %s", (dialect) => {
    expect(readme).toContain(`\`${dialect}\``)
  })
})
