/** A file of a journal: locked for as long as its process lives, written at its end, and synced. */
import { randomUUID } from "node:crypto"
import fs, { closeSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { DirectoryUnusable, makeDirectory } from "../../files/directory.ts"
import { type FileLock, tryFileLock } from "../../files/file-lock.ts"

/** The folder of the journals of a data directory. */
export const journalIn = (dataDir: string): string => join(dataDir, "journal")

export const lockPath = (journal: string): string => `${journal}.lock`

export class JournalFile {
  readonly path: string
  /** The bytes that are its own before it has a line: a sync of these needs no change of the file's length. */
  readonly #room: number
  readonly #fd: number
  readonly #lock: FileLock
  /** The bytes that lines take. */
  used = 0
  /** Lines that were written since it was empty. */
  lines = 0
  /** Lines whose settlement is not in the books. */
  pending = 0
  /** The bytes that may not be zero. */
  #touched = 0
  #clearing: Promise<void> | undefined

  private constructor(path: string, room: number, lock: FileLock, fd: number) {
    this.path = path
    this.#lock = lock
    this.#room = room
    this.#fd = fd
  }

  /**
   * Creates a file, and locks it. Throws {@link DirectoryUnusable}, and leaves nothing then.
   * @param room the bytes that are written before it has a line
   */
  static create(folder: string, room: number): JournalFile {
    makeDirectory(folder)
    const path = join(folder, `${randomUUID()}.journal`)
    let lock: FileLock | undefined
    let fd: number | undefined
    try {
      lock = tryFileLock(lockPath(path))
      if (lock === undefined) throw new Error(`${path} is locked by another process`)
      fd = openSync(path, "w", 0o600)
      if (writeSync(fd, Buffer.alloc(room)) < room) throw new Error(`there is no room for ${room / 2 ** 20} MiB`)
      fsyncSync(fd)
      syncFolder(folder)
      return new JournalFile(path, room, lock, fd)
    } catch (cause) {
      if (fd !== undefined) closeSync(fd)
      lock?.release()
      for (const each of [path, lockPath(path)]) rmSync(each, { force: true })
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new DirectoryUnusable({ message: `The journal in ${folder} cannot be written: ${reason}` })
    }
  }

  /** Whether it has no line, and is not being cleared. */
  get isEmpty(): boolean {
    return this.used === 0 && this.#clearing === undefined
  }

  /** Whether its lines take all of its room. */
  get isFull(): boolean {
    return this.used >= this.#room
  }

  /** Whether none of its lines is needed any more. */
  get isDone(): boolean {
    return this.used > 0 && this.pending === 0 && this.#clearing === undefined
  }

  /** Writes lines and syncs them; after a failure the next ones take their place. One write at a time. */
  async write(text: string, lines: number): Promise<void> {
    const length = Buffer.byteLength(text)
    // Nothing is left of what a failed write has written.
    const bytes = Buffer.alloc(Math.max(length, this.#touched - this.used))
    bytes.write(text)
    const end = this.used + bytes.length
    this.#touched = Math.max(this.#touched, end)
    try {
      await writeWhole(this.#fd, bytes, this.used)
      this.used += length
      this.lines += lines
      this.#touched = this.used
    } catch (cause) {
      ftruncateSync(this.#fd, Math.max(this.used, this.#room))
      this.#touched = Math.min(this.#touched, Math.max(this.used, this.#room))
      throw cause
    }
  }

  /** Removes the lines, whose settlements are in the books. */
  clear(): Promise<void> {
    this.#clearing ??= this.#clear().finally(() => {
      this.#clearing = undefined
    })
    return this.#clearing
  }

  async #clear(): Promise<void> {
    if (this.#room > 0) await writeWhole(this.#fd, Buffer.alloc(Math.min(this.#touched, this.#room)), 0)
    ftruncateSync(this.#fd, this.#room)
    this.used = 0
    this.lines = 0
    this.#touched = 0
  }

  /** Ends its lock. A file whose settlements are all in the books is removed. */
  async close(): Promise<void> {
    // Its zeros would go to the next file with this descriptor. A clearing that fails was reported.
    await this.#clearing?.catch(() => undefined)
    const isDone = this.pending === 0
    closeSync(this.#fd)
    if (isDone) rmSync(this.path)
    this.#lock.release()
    if (isDone) rmSync(lockPath(this.path), { force: true })
  }
}

/** Writes bytes at a position, and syncs them. The event loop does not wait for the disk. */
const writeWhole = (fd: number, bytes: Buffer, at: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (cause: Error | null) => (cause === null ? resolve() : reject(cause))
    fs.write(fd, bytes, 0, bytes.length, at, (cause, written) => {
      if (cause !== null) reject(cause)
      else if (written < bytes.length) reject(new Error("There is no room for the whole text"))
      else fs.fdatasync(fd, end)
    })
  })

/**
 * Syncs the directory. Without it, a file that was synced can be missing after a power failure, because its name was not
 * synced. POSIX `fsync`.
 */
const syncFolder = (folder: string): void => {
  // Windows has no such call, and needs none.
  if (process.platform === "win32") return
  const fd = openSync(folder, "r")
  fsyncSync(fd)
  closeSync(fd)
}
