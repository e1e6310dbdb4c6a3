/**
 * The files of an embedded database, from an archive of an empty one: writing them takes a tenth of the time that
 * PostgreSQL's `initdb` takes. The archive is in the package; beside the source it is that of PGlite, without tables.
 * No import of Effect: the thread that runs this starts in half the time.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { parseTar } from "nanotar"

/** In `dist`, migrated; `npm run build` makes it. */
const packaged = new URL("../database.tgz", import.meta.url)

const archive = (): URL =>
  existsSync(packaged)
    ? packaged
    : new URL("prepopulatedfs.tgz", import.meta.resolve("@electric-sql/pglite-prepopulatedfs"))

/** A database that is empty, as PGlite loads it into memory. */
export const emptyDatabase = (): Blob => new Blob([readFileSync(archive())])

/**
 * Creates the files if they are missing; fails if the directory has other files. The directory appears when it is complete,
 * because an incomplete one would not start.
 * @param bytes the archive (tar, gzipped)
 */
export const createFiles = (dataDir: string, bytes: Uint8Array = readFileSync(archive())): void => {
  if (existsSync(join(dataDir, "PG_VERSION"))) return
  const unfinished = `${dataDir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  for (const { name, type, data } of parseTar(gunzipSync(bytes))) {
    const path = join(unfinished, name)
    if (type === "directory") mkdirSync(path, { recursive: true, mode: 0o700 })
    else if (type === "file") writeFileSync(path, data ?? new Uint8Array(), { mode: 0o600 })
  }
  renameSync(unfinished, dataDir)
}
