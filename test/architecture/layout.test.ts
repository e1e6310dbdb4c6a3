/** The layout of `test`: what a test needs is said by its folder, and by nothing else. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { notRun, testsOfRun } from "../support/folders.ts"
import { readDurations } from "../support/longest-first.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" }).map((file) => `test/${file}`)
const tests = files.filter((file) => file.endsWith(".test.ts"))
/** Folders that a run has, such as `test/unit/`. */
const foldersOf = (...run: Parameters<typeof testsOfRun>) =>
  testsOfRun(...run).map((pattern) => pattern.replace(/\*.*/, ""))

describe("the folders of tests", () => {
  it("are known, each by what its tests need", () => {
    const known = [...foldersOf("embedded", true), ...notRun.map((folder) => `test/${folder}/`)]
    expect(files.filter((file) => file.endsWith(".ts") && !known.some((folder) => file.startsWith(folder)))).toEqual([])
    expect(known.filter((folder) => !statSync(join(root, folder)).isDirectory())).toEqual([])
  })

  it("have all tests, each once, and those of the books are also run on servers", () => {
    const runs = (file: string, folders: ReadonlyArray<string>) => folders.some((folder) => file.startsWith(folder))
    expect(tests.filter((file) => !runs(file, foldersOf("embedded", true)))).toEqual([])
    const onServers = foldersOf("servers", true)
    expect(tests.filter((file) => runs(file, foldersOf("citus", true)) && !runs(file, onServers))).toEqual([])
    expect(tests.filter((file) => !runs(file, onServers)).length).toBeGreaterThan(100)
  })

  it("say what Vitest runs: its configuration names no test", () => {
    const text = readFileSync(join(root, "vitest.config.ts"), "utf8")
    const names = tests.map((file) => file.replace(/^.*\/|\.test\.ts$/g, "")).filter((name) => name.includes("-"))
    expect(text).not.toMatch(/\.test\.ts|\*\*/)
    expect(names.filter((name) => text.includes(`${name}"`))).toEqual([])
  })

  it("of unit tests mirror those of the sources", () => {
    const mirrored = readdirSync(join(root, "test/unit"), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    )
    // `support` has tests of helpers.
    const unknown = mirrored.filter(({ name }) => name !== "support" && !existsSync(join(root, "src", name)))
    expect(unknown.map(({ name }) => name)).toEqual([])
  })
})

it("unit tests start no gateway, and use no store of the run", () => {
  const starts =
    /\b(useGateway|startGateway|startRealtimeGateway|useCommands|useProcesses|layerTest(Database|Databases|Ledger|Nodes)|makeTestDatabase|testStores|testRedisUrl)\b/
  const unit = tests.filter((file) => file.startsWith("test/unit/"))
  expect(unit.filter((file) => starts.test(readFileSync(join(root, file), "utf8")))).toEqual([])
  expect(starts.test(readFileSync(join(root, "test/integration/http/edge.test.ts"), "utf8"))).toBe(true)
})

it("the durations are of tests that exist", () => {
  expect(Object.keys(readDurations()).filter((file) => !tests.includes(file))).toEqual([])
})
