/**
 * A lock on a file that the operating system holds for a process, and releases however the process ends.
 *
 * **Details**: SQLite's exclusive lock, which is a POSIX record lock (a `LockFileEx` lock on Windows). It does not
 * depend on process ids, so a reused pid, a reboot or another container on the same volume cannot be mistaken for the
 * owner.
 *
 * **Gotchas**: the file stays when the lock is released: deleting it would let two processes lock two files of one
 * name. Network file systems must support record locks.
 */
import { DatabaseSync } from "node:sqlite"
import { Predicate } from "effect"

export interface FileLock {
  readonly release: () => void
}

/**
 * Takes the lock, creating the file if needed; undefined if another owner holds it. Throws if the file cannot be
 * opened.
 */
export const tryFileLock = (path: string): FileLock | undefined => {
  const database = new DatabaseSync(path)
  try {
    database.exec("pragma busy_timeout = 0; begin exclusive")
  } catch (error) {
    database.close()
    if (isBusy(error)) return undefined
    throw error
  }
  return { release: () => database.close() }
}

/** SQLITE_BUSY. */
const busyCode = 5

const isBusy = (error: unknown): boolean => Predicate.hasProperty(error, "errcode") && error.errcode === busyCode
