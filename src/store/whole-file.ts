/** Files that other processes read: they appear whole, or not at all. */
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

/** Moves a file into place whole, with whatever folder it needs; nobody but this machine's user reads it. */
export const writeWholeFile = (file: string, text: string): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  renameSync(draft, file)
}
