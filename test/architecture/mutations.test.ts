/** Changes that tests must notice: each finds its line. */
import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { allEdits } from "../../scripts/mutations/edits.ts"

it("each mutation stands once in its file", () => {
  const lost = allEdits.filter(({ file, from }) => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")
    return text.split(from).length !== 2
  })
  expect(lost.map(({ file, from }) => `${file}: ${from}`)).toEqual([])
  expect(allEdits.length).toBeGreaterThan(100)
})
