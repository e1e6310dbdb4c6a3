/**
 * Where tests make their folders: beside the dependencies, and not in the system's temporary directory, where making a file
 * can take a millisecond on a busy machine; a database has a thousand. Vitest runs `setup` before the first test.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("../node_modules/.cache/weir-tmp", import.meta.url))
/** What later runs use again. */
const kept = /^weir-test-/

export const setup = (): void => {
  // Servers that tests start as another user may not be able to reach it.
  if (process.env["SVC_TEST_DATABASE_URL"] !== undefined) return
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) {
    if (!kept.test(name)) rmSync(join(folder, name), { recursive: true, force: true })
  }
  process.env["TMPDIR"] = folder
}
