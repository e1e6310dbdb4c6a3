/**
 * One migrated embedded database for all tests: that of the package, unpacked once, then copied. Vitest runs `setup` before
 * the first test. It is kept under the archive's name, so that later runs find it.
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
import { basename, join } from "node:path"
import { gunzipSync } from "node:zlib"
import { preparedDatabase } from "../../scripts/prepared-database.ts"
import { createFiles } from "../../src/store/embedded-files.ts"
import { cacheFolder, removeUnused } from "./temporary.ts"

const templates = join(cacheFolder, "templates")

export const setup = async (): Promise<void> => {
  const archive = await preparedDatabase()
  mkdirSync(templates, { recursive: true })
  const made = join(templates, basename(archive, ".tgz"))
  if (!existsSync(made)) unpack(archive, made)
  utimesSync(made, new Date(), new Date())
  removeUnused(templates)
  process.env["SVC_TEST_EMBEDDED_TEMPLATE"] = join(made, "dump.tar")
}

const unpack = (archive: string, made: string): void => {
  const draft = mkdtempSync(join(templates, "draft-"))
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
