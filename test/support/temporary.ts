/**
 * Where tests make their folders: in memory where there is room, or else beside the dependencies. A database has a thousand
 * files, and on some disks making one takes a millisecond. Vitest runs `setup` before the first test.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const memory = "/dev/shm"
const neededBytes = 2 * 1024 ** 3
const hourMs = 3_600_000
/** It grows with each change of the sources: it is made anew each day. */
const compileCache = "weir-test-compile-cache"

const hasRoom = (): boolean => {
  if (!existsSync(memory)) return false
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize >= neededBytes
}

export const setup = (): void => {
  place()
  // Modules compiled once are read by all processes and threads.
  process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), compileCache)
}

const place = (): void => {
  // Servers that tests start as another user may not be able to reach it.
  if (process.env["SVC_TEST_DATABASE_URL"] !== undefined) return
  const beside = fileURLToPath(new URL("../../node_modules/.cache/weir-tmp", import.meta.url))
  const folder = hasRoom()
    ? join(memory, `weir-tmp-${createHash("sha256").update(beside).digest("hex").slice(0, 8)}`)
    : beside
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) {
    const { birthtimeMs, mtimeMs } = statSync(join(folder, name))
    const isOld = name === compileCache ? birthtimeMs < Date.now() - 24 * hourMs : mtimeMs < Date.now() - hourMs
    // It was left by a run that was killed, or by one of other sources.
    if (isOld) rmSync(join(folder, name), { recursive: true, force: true })
  }
  process.env["TMPDIR"] = folder
}
