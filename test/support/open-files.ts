/** Files that this process has open, without names among them. */
import { readdirSync, readlinkSync } from "node:fs"

export const openFilesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(`${folder}/`) ? [path] : []
    } catch {
      // It was closed since it was listed.
      return []
    }
  })
