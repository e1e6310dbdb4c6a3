/**
 * The command as the package has it, for tests that start processes: bundled once for all of them, it starts in half the
 * time of its sources. Vitest runs `setup` before the first test. It is kept as long as no source has changed.
 */
import { createHash } from "node:crypto"
import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import config from "../../scripts/bundle.ts"
import { preparedDatabase } from "../../scripts/prepared-database.ts"
import { cacheFolder } from "./temporary.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
/** The folder where the dependencies that are not bundled are found. */
const cache = join(cacheFolder, "bundles")

const hashOfInputs = (database: string): string => {
  const hash = createHash("sha256").update(database)
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).map((file) => `src/${file}`)
  for (const file of ["package-lock.json", "scripts/bundle.ts", ...sources.sort()]) {
    const { mtimeMs, size } = statSync(join(root, file))
    hash.update(`${file} ${mtimeMs} ${size}\n`)
  }
  return hash.digest("hex").slice(0, 16)
}

export const setup = async (): Promise<void> => {
  const database = await preparedDatabase()
  const folder = join(cache, hashOfInputs(database))
  if (!existsSync(folder)) await build(folder, database)
  process.env["SVC_TEST_COMMAND"] = join(folder, "dist/bin/main.js")
}

/** @param database path of the package's database */
const build = async (folder: string, database: string): Promise<void> => {
  rmSync(cache, { recursive: true, force: true })
  const draft = `${folder}.new`
  const bundle = await rolldown({ ...config, cwd: root, logLevel: "warn" })
  await bundle.write({ ...config.output, dir: join(draft, "dist/bin"), minify: false })
  await bundle.close()
  symlinkSync(join(root, "migrations"), join(draft, "migrations"))
  // In the package, too, a database is there: a new one in memory applies no migrations.
  copyFileSync(database, join(draft, "dist/database.tgz"))
  renameSync(draft, folder)
}
