/** Preloaded into a gateway: on SIGUSR2, writes how many bytes its main thread has outside of the space of young objects. */
import { writeFileSync } from "node:fs"
import { getHeapSpaceStatistics } from "node:v8"
import { isMainThread } from "node:worker_threads"

const file = process.env["BENCH_KEPT"]
if (isMainThread && file !== undefined) {
  process.on("SIGUSR2", () => {
    const spaces = getHeapSpaceStatistics().filter(({ space_name }) => !space_name.startsWith("new"))
    writeFileSync(file, String(spaces.reduce((sum, { space_used_size }) => sum + space_used_size, 0)))
  })
}
