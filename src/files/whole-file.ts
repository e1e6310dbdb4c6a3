/** Files that other processes read: written atomically. */
import { renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { makeDirectory } from "./directory.ts"

/** Writes a file atomically, creating its directory if needed. Only this user can read it. */
export const writeWholeFile = (file: string, text: string): void => {
  makeDirectory(dirname(file))
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  renameSync(draft, file)
}
