/**
 * One migrated embedded database for all tests: that of the package, unpacked once, then copied. Vitest runs `setup` before
 * the first test. It is kept in the temporary directory under the archive's name, so that later runs find it.
 */
import { execFileSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { gunzipSync } from "node:zlib"
import { preparedDatabase } from "../../scripts/prepared-database.ts"
import { createFiles } from "../../src/store/embedded-files.ts"

/** Vitest has said by then where temporary files are. @param archive path of the package's database */
const directory = (archive: string): string => join(tmpdir(), `weir-test-template-${basename(archive, ".tgz")}`)

export const setup = async (): Promise<void> => {
  const archive = await preparedDatabase()
  const made = directory(archive)
  if (!existsSync(made)) unpack(archive, made)
  // What nobody has used for an hour is removed.
  utimesSync(made, new Date(), new Date())
  process.env["SVC_TEST_EMBEDDED_TEMPLATE"] = join(made, "dump.tar")
}

const unpack = (archive: string, made: string): void => {
  const draft = mkdtempSync(join(tmpdir(), "weir-test-template-draft-"))
  const bytes = readFileSync(archive)
  writeFileSync(join(draft, "dump.tar"), gunzipSync(bytes))
  createFiles(join(draft, "postgres"), bytes)
  try {
    renameSync(draft, made)
  } catch {
    // Another run was faster.
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Copies the database into a data directory that has none. */
export const copyTemplate = (dataDir: string): void => {
  const target = join(dataDir, "postgres")
  if (existsSync(target)) return
  mkdirSync(dataDir, { recursive: true })
  const template = process.env["SVC_TEST_EMBEDDED_TEMPLATE"]
  if (template === undefined) throw new Error("Vitest runs the setup first")
  // In a third of the time of Node's own.
  execFileSync("cp", ["-R", join(template, "../postgres"), target])
}
