/** Changes that tests must notice: each finds its line, and has tests near it. */
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { allEdits } from "../../scripts/mutations/edits.ts"
import { nearestTo } from "../../scripts/mutations/nearest.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

it("each mutation stands once in its file", () => {
  const lost = allEdits.filter(({ file, from }) => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")
    return text.split(from).length !== 2
  })
  expect(lost.map(({ file, from }) => `${file}: ${from}`)).toEqual([])
  expect(allEdits.length).toBeGreaterThan(100)
})

it("each file with mutations has tests near it, and these exist", () => {
  const files = [...new Set(allEdits.map(({ file }) => file))]
  expect(files.filter((file) => nearestTo(file).length === 0)).toEqual([])
  const paths = [...new Set(files.flatMap(nearestTo))]
  expect(paths.filter((path) => globSync(`${path}*`, { cwd: root }).length === 0)).toEqual([])
})
