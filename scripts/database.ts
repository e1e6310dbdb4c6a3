/** Writes the files of an empty, migrated database for the package: its first start creates no database, it unpacks one. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { Effect, Layer } from "effect"
import { createTar } from "nanotar"
import { WeirConfig } from "../src/config.ts"
import { layerDatabase } from "../src/store/database.ts"

const dataDir = mkdtempSync(join(tmpdir(), "weir-build-"))
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
const dist = fileURLToPath(new URL("../dist/", import.meta.url))
mkdirSync(dist, { recursive: true })
writeFileSync(join(dist, "database.tgz"), gzipSync(createTar(entries)))
