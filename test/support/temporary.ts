/**
 * The place of tests' folders: in memory if there is room, or else beside the dependencies. A database has a thousand
 * files, and on some disks making one takes a millisecond. Vitest runs `setup` before the first test, and then `teardown`:
 * memory that a run has taken is free after it.
 */
import { createHash } from "node:crypto"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const memory = "/dev/shm"
const neededBytes = 2 * 1024 ** 3
const hourMs = 3_600_000
/** The folder of files that later runs use again. */
export const cacheFolder = fileURLToPath(new URL("../../node_modules/.cache/weir-test", import.meta.url))
/** It grows with each change of the sources: it is made again each day. */
const compileCache = join(cacheFolder, "compiled")

const hasRoom = (): boolean => {
  if (!existsSync(memory)) return false
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize >= neededBytes
}

let folder: string | undefined

export const setup = (): void => {
  mkdirSync(cacheFolder, { recursive: true })
  if (existsSync(compileCache) && statSync(compileCache).birthtimeMs < Date.now() - 24 * hourMs) {
    rmSync(compileCache, { recursive: true, force: true })
  }
  // Modules compiled once are read by all processes and threads.
  process.env["NODE_COMPILE_CACHE"] ??= compileCache
  // Servers that tests start as another user may not be able to reach it.
  if (process.env["SVC_TEST_DATABASE_URL"] === undefined) process.env["TMPDIR"] = folder = makeFolder()
}

export const teardown = (): void => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
}

/** Removes the entries of a folder that no run has used for an hour. @param prefix of their names */
export const removeUnused = (parent: string, prefix = ""): void => {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name)
    const isUnused = name.startsWith(prefix) && statSync(path).mtimeMs < Date.now() - hourMs
    if (isUnused) rmSync(path, { recursive: true, force: true })
  }
}

/** One for each run: several may run at once. */
const makeFolder = (): string => {
  const inMemory = hasRoom()
  const parent = inMemory ? memory : cacheFolder
  const prefix = `weir-tmp-${createHash("sha256").update(cacheFolder).digest("hex").slice(0, 8)}-`
  // A folder that is old was left by a run that was killed.
  removeUnused(parent, prefix)
  const made = mkdtempSync(join(parent, prefix))
  // PostgreSQL runs as another user.
  chmodSync(made, 0o755)
  return made
}
