/** The table of profiles is complete. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { ChatProfileName, DialectName } from "../../src/protocol/catalogue.ts"

const readme = readFileSync(new URL("../../src/dialects/README.md", import.meta.url), "utf8")
const rows = [...readme.matchAll(/^\| `([a-z]+)` +\|/gm)].map(([, name]) => name).filter((name) => name !== "profile")

describe("src/dialects/README.md", () => {
  it("has a row for each profile, and no other", () => {
    expect(rows.sort()).toEqual([...ChatProfileName.literals].sort())
  })

  it.each(DialectName.literals)("names the dialect %s", (dialect) => {
    expect(readme).toContain(`\`${dialect}\``)
  })
})
