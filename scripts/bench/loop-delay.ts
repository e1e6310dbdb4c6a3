/** Preloaded into a gateway: on SIGUSR2, writes the longest delay of its event loop since the last time, in milliseconds. */
import { writeFileSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { isMainThread } from "node:worker_threads"

const file = process.env["BENCH_LOOP_DELAY"]
if (isMainThread && file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  process.on("SIGUSR2", () => {
    writeFileSync(file, String(delay.max / 1e6))
    delay.reset()
  })
}
