/** The memory of a process and of its children, where Linux has `/proc`. */
import { readdir, readFile } from "node:fs/promises"

/** More processes are too many. */
const maxProcesses = 100

/** The bytes of memory that a process and its children have for themselves; 0 if they cannot be read, without end if they are too many. */
export const memoryOf = async (pid: number): Promise<number> => {
  const pids = [pid]
  let bytes = 0
  for (let at = 0; at < pids.length; at++) {
    if (pids.length > maxProcesses) return Number.POSITIVE_INFINITY
    const each = pids[at]
    const status = await textOf(`/proc/${each}/status`)
    bytes += kibibytesOf(status) * 1024
    // Each thread has children of its own.
    for (const thread of await readdir(`/proc/${each}/task`).catch(none)) {
      const children = await textOf(`/proc/${each}/task/${thread}/children`)
      pids.push(...children.split(" ").filter(Boolean).map(Number))
    }
  }
  return bytes
}

const none = (): ReadonlyArray<string> => []

/** The kernel may not count anonymous memory on its own. */
const kibibytesOf = (status: string): number =>
  Number(/^RssAnon:\s*(\d+) kB/m.exec(status)?.[1] ?? /^VmRSS:\s*(\d+) kB/m.exec(status)?.[1] ?? 0)

/** The process may have ended. */
const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "")
