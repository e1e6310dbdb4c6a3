/**
 * The command as the package has it, for tests that start processes: bundled once for all of them, it starts in half the
 * time of its sources. Vitest runs `setup` before the first test. It is kept as long as no source has changed.
 */
import { createHash } from "node:crypto"
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import config from "../scripts/bundle.ts"
import { templateDump } from "./template.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
/** Where the dependencies are found that are not bundled. */
const cache = join(root, "node_modules/.cache/weir-test")

const hashOfInputs = (template: string): string => {
  const hash = createHash("sha256").update(template)
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).map((file) => `src/${file}`)
  for (const file of ["package-lock.json", "scripts/bundle.ts", ...sources.sort()]) {
    const { mtimeMs, size } = statSync(join(root, file))
    hash.update(`${file} ${mtimeMs} ${size}\n`)
  }
  return hash.digest("hex").slice(0, 16)
}

export const setup = async (): Promise<void> => {
  const template = templateDump()
  const folder = join(cache, hashOfInputs(template))
  if (!existsSync(folder)) await build(folder, template)
  process.env["SVC_TEST_COMMAND"] = join(folder, "dist/bin/main.js")
}

/** @param template path of the archive (tar) of a migrated database */
const build = async (folder: string, template: string): Promise<void> => {
  rmSync(cache, { recursive: true, force: true })
  const draft = `${folder}.new`
  const bundle = await rolldown({ ...config, cwd: root, logLevel: "warn" })
  await bundle.write({ ...config.output, dir: join(draft, "dist/bin"), minify: false })
  await bundle.close()
  symlinkSync(join(root, "migrations"), join(draft, "migrations"))
  // In the package, too, a database is there: a new one in memory applies no migrations.
  writeFileSync(join(draft, "dist/database.tgz"), gzipSync(readFileSync(template), { level: 1 }))
  renameSync(draft, folder)
}
