/** Fifty requests of 20 MB at once beside 500 streams: how long the event loop is blocked, and which requests are served. */
import { setTimeout as sleep } from "node:timers/promises"
import { drive, median, residentBytes } from "./load.ts"
import { largeText } from "./long-requests.ts"
import { openStreams } from "./open-streams.ts"
import { startMeasured } from "./preloaded.ts"
import type { Scenario } from "./scenario.ts"

export const crowd: Scenario = async (subjects, { rounds }) => {
  const { weir: watched, read, remove } = await startMeasured(subjects, "longest-turn")
  const large = watched.call("/t1/exchange", largeText(20 * 2 ** 20))
  const streams = openStreams(watched.exchange("paced-200"), 500)
  await streams.allOpen
  await drive(large, { requests: 4, inFlight: 2 })
  const alone: Array<number> = []
  const beside: Array<number> = []
  const memory: Array<number> = []
  let served = 0
  for (let round = 0; round < rounds; round++) {
    await sleep(2000)
    await read()
    await sleep(3000)
    alone.push(await read())
    const before = residentBytes(watched.pid)
    const run = drive(large, { requests: 50, inFlight: 50, countsOthers: true })
    let most = before
    const look = setInterval(() => {
      most = Math.max(most, residentBytes(watched.pid))
    }, 20)
    served += (await run).wholeMs.length
    clearInterval(look)
    beside.push(await read())
    memory.push((most - before) / 2 ** 20)
  }
  const broken = streams.broken()
  await streams.close()
  remove()
  const note = `50 at once, ${Math.round(served / rounds)} served, the others refused; ${broken} of 500 streams broke`
  return [
    { what: "longest standstill of the event loop, 500 paced streams, in CPU time", unit: "ms", weir: median(alone) },
    {
      what: "the same while 50 requests of 20 MB of text come at once",
      unit: "ms",
      weir: median(beside),
      note,
      budget: { of: "value", max: 20 },
    },
    { what: "what memory grows by meanwhile", unit: "MiB", weir: median(memory) },
  ]
}
