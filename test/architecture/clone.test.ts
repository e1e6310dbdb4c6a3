/** A clone in an empty folder, with nothing beside it: its tests run, and those of recordings are left out by name. */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const decodeFiles = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Array(Schema.Struct({ file: Schema.String }))),
)

const { SVC_TEST_RECORDINGS: _, ...environment } = process.env

it.skipIf(spawnSync("git", ["-C", root, "rev-parse"]).status !== 0)("a clone with nothing beside it has tests", () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-clone-"))
  try {
    const clone = join(folder, "weir")
    execFileSync("git", ["clone", "--quiet", "--depth", "1", `file://${root}`, clone])
    symlinkSync(join(root, "node_modules"), join(clone, "node_modules"))
    const listed = spawnSync(
      process.execPath,
      [join(root, "node_modules/vitest/vitest.mjs"), "list", "--filesOnly", "--json"],
      {
        cwd: clone,
        env: environment,
        encoding: "utf8",
      },
    )
    const files = decodeFiles(listed.stdout).map(({ file }) => file)
    expect(files.filter((file) => file.includes("test/corpus/"))).toEqual([])
    expect(files.length).toBeGreaterThan(100)
    expect(listed.stderr).toContain("Left out: test/corpus")
  } finally {
    rmSync(folder, { recursive: true })
  }
})
