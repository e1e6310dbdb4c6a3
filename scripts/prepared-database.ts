/** The files of an empty, migrated database, made once for the same sources: that takes seconds. */
import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { Effect, Layer } from "effect"
import { createTar } from "nanotar"
import { WeirConfig } from "../src/config.ts"
import { layerDatabase } from "../src/store/database.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const cache = join(root, "node_modules/.cache/weir-database")

/** All that its files depend on: the migrations, what applies them, and the engine's version. */
const hashOfInputs = (): string => {
  const hash = createHash("sha256")
  const folders = ["migrations", "src/store"]
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(root, join(parentPath, name))),
  )
  for (const file of ["package-lock.json", "scripts/prepared-database.ts", ...files.sort()]) {
    hash.update(`${file}\n`).update(readFileSync(join(root, file)))
  }
  return hash.digest("hex").slice(0, 16)
}

/** @returns path of the archive (tar, gzipped) */
export const preparedDatabase = async (): Promise<string> => {
  const file = join(cache, `${hashOfInputs()}.tgz`)
  if (existsSync(file)) return file
  mkdirSync(cache, { recursive: true })
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, await makeArchive())
  // Whole or not there, also for another process that makes it or looks for it. Everybody may read it, as the package.
  renameSync(draft, file)
  for (const name of readdirSync(cache))
    if (name.endsWith(".tgz") && name !== basename(file)) rmSync(join(cache, name), { force: true })
  return file
}

const makeArchive = async (): Promise<Buffer> => {
  const dataDir = mkdtempSync(join(tmpdir(), "weir-database-"))
  const database = layerDatabase.pipe(Layer.provide(WeirConfig.layerWith({ dataDir, databaseUrl: undefined })))
  await Effect.runPromise(Effect.scoped(Layer.build(database)))
  // It has been stopped: its files are as they stay.
  const files = join(dataDir, "postgres")
  const entries = readdirSync(files, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const name = relative(files, path)
      return entry.isDirectory() ? { name } : { name, data: readFileSync(path) }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  rmSync(dataDir, { recursive: true })
  return gzipSync(createTar(entries))
}
