/** Ten thousand open streams on one process, with a frame a second each: memory, first frames, and whether any breaks. */
import { setTimeout as sleep } from "node:timers/promises"
import { drive, openFilesLimit, percentile, residentBytes } from "./load.ts"
import { openStreams } from "./open-streams.ts"
import type { Scenario } from "./scenario.ts"

export const tenThousand: Scenario = async ({ another, overHttp2 }, { scale }) => {
  // Streams share their connections to the vendor: otherwise the limit of open files would come first.
  const weir = await another(overHttp2)
  await drive(weir.exchange("short"), { requests: 4000 * scale, inFlight: 32 })
  await drive(weir.exchange("frames-200"), { requests: 200 * scale, inFlight: 16 })
  // Exchanges are counted with two files each.
  const count = Math.round(Math.min(10_000, openFilesLimit() / 2 - 200) * scale)
  const before = residentBytes(weir.pid)
  const streams = openStreams(weir.exchange("paced-200"), count)
  await streams.allOpen
  await sleep(8000 * Math.min(1, scale))
  const frames = streams.frames()
  await sleep(5000)
  const perSecond = (streams.frames() - frames) / 5
  const resident = residentBytes(weir.pid)
  const first = streams.firstMs()
  const broken = streams.broken()
  await streams.close()
  const note = `${broken} of ${count} broke; ${perSecond.toFixed(0)} frames/s`
  return [
    { what: `memory per open stream, ${count} open`, unit: "KiB", weir: (resident - before) / 1024 / count, note },
    { what: "resident memory with them", unit: "MiB", weir: resident / 2 ** 20, budget: { of: "value", max: 8192 } },
    { what: "first frame while they open, p50", unit: "ms", weir: percentile(first, 0.5) },
    { what: "first frame while they open, p99", unit: "ms", weir: percentile(first, 0.99) },
    { what: "streams that broke", unit: "", weir: broken, budget: { of: "value", max: 0 } },
  ]
}
