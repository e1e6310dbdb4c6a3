/**
 * Preloaded into a gateway: on SIGUSR2, writes the longest CPU time between two looks of a timer since the last time, in
 * milliseconds. The time that its thread waits for a core, which it shares here, is not counted.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { isMainThread } from "node:worker_threads"

const file = process.env["BENCH_LONGEST_TURN"]
if (isMainThread && file !== undefined) {
  const ranMs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6
  let last = ranMs()
  let longest = 0
  setInterval(() => {
    const now = ranMs()
    longest = Math.max(longest, now - last)
    last = now
  }, 1).unref()
  process.on("SIGUSR2", () => {
    writeFileSync(file, String(longest))
    longest = 0
  })
}
