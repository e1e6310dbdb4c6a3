/** Preloaded into a gateway: on SIGUSR2, writes how many bytes its main thread has allocated in its heap so far. */
import { writeFileSync } from "node:fs"
import { getHeapStatistics } from "node:v8"
import { isMainThread } from "node:worker_threads"

const file = process.env["BENCH_ALLOCATED"]
if (isMainThread && file !== undefined) {
  process.on("SIGUSR2", () => writeFileSync(file, String(getHeapStatistics().total_allocated_bytes)))
}
