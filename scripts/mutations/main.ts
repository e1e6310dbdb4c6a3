/**
 * `npm run mutations [-- --all] [--only TEXT]`: changes critical lines, one at a time, in a copy of the project, and runs the tests.
 * A change that no test notices is a survivor: a test is missing. Prints a table; exits with 1 if there are survivors.
 *
 * The tests nearest to a file run first, and all the others (`--all`) where those notice nothing.
 */
import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Schema } from "effect"
import { allEdits, type Edit } from "./edits.ts"
import { nearestTo } from "./nearest.ts"

const { values } = parseArgs({
  options: { all: { type: "boolean", default: false }, only: { type: "string", default: "" } },
})
const root = fileURLToPath(new URL("../..", import.meta.url))

/** Decodes vitest's report. */
const decodeReport = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      testResults: Schema.Array(
        Schema.Struct({
          name: Schema.String,
          assertionResults: Schema.Array(Schema.Struct({ status: Schema.String })),
        }),
      ),
    }),
  ),
)

type Outcome = "noticed" | "survived" | "not found"

const copy = mkdtempSync(join(tmpdir(), "weir-mutations-"))
for (const name of readdirSync(root).filter(
  (name) => !/^(node_modules|dist|\.git|\.weir.*|\.screenshots)$/.test(name),
)) {
  cpSync(join(root, name), join(copy, name), { recursive: true })
}
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))

/** The file of the first test that fails; undefined if none does. */
const failingTest = (paths: ReadonlyArray<string>): string | undefined => {
  const report = join(copy, "report.json")
  rmSync(report, { force: true })
  const { status } = spawnSync(
    "npx",
    ["vitest", "run", "--bail=1", "--reporter=json", `--outputFile=${report}`, ...paths],
    { cwd: copy, timeout: 600_000 },
  )
  if (status === 0) return undefined
  const { testResults } = decodeReport(readFileSync(report, "utf8"))
  // The run ends with the first failure: files that did not run are called failed, too.
  const failed = testResults.find(({ assertionResults }) => assertionResults.some(({ status }) => status === "failed"))
  return failed === undefined ? "a run that did not begin" : failed.name.slice(copy.length + 1)
}

const tryEdit = ({ file, from, to }: Edit): { readonly outcome: Outcome; readonly by: string } => {
  const path = join(copy, file)
  const text = readFileSync(path, "utf8")
  if (text.split(from).length !== 2) return { outcome: "not found", by: "" }
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
  try {
    const near = failingTest(nearestTo(file))
    const by = near ?? (values.all ? failingTest([]) : undefined)
    return { outcome: by === undefined ? "survived" : "noticed", by: by ?? "" }
  } finally {
    writeFileSync(path, text)
  }
}

console.log("| file | change | outcome | by |\n|---|---|---|---|")
for (const edit of allEdits.filter(({ file, from }) => `${file} ${from}`.includes(values.only))) {
  const { outcome, by } = tryEdit(edit)
  if (outcome !== "noticed") process.exitCode = 1
  const shown = (text: string) => `\`${text.trim().replaceAll(/\s+/g, " ").replaceAll("|", "\\|")}\``
  console.log(`| ${edit.file} | ${shown(edit.from)} → ${shown(edit.to)} | ${outcome} | ${by} |`)
}
rmSync(copy, { recursive: true })
