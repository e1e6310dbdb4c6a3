/**
 * Half of the load that a gateway can carry, for half an hour: exchanges and streams, at a rate that does not wait for their
 * replies. Memory, p99 and open files must stay level.
 */
import { readdirSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Agent } from "undici"
import { drive, median, one, percentile, residentBytes } from "./load.ts"
import type { Row, Scenario } from "./scenario.ts"
import type { Weir } from "./subjects.ts"

const parts = 15

export const soak: Scenario = async ({ weir }, { scale }) => {
  const { requests, seconds } = await drive(weir.exchange("short"), { requests: 8000 * scale, inFlight: 32 })
  const rate = requests / seconds / 2
  const found: Array<Part> = []
  for (let part = 0; part < parts; part++) found.push(await keep(weir, rate, (120_000 * scale) | 0))
  // Files of calls that have just ended close after them.
  await sleep(2000)
  const files = filesOf(weir.pid)
  const row = (what: string, unit: string, of: (part: Part) => number, max: number): Row => {
    const values = found.map(of)
    // The first fifth warms up.
    const [begin = 0, end = 0] = [values.slice(3, 6), values.slice(-3)].map(median)
    const shown = values.map((value) => value.toFixed(0)).join(", ")
    return { what, unit, floor: begin, weir: end, note: `floor: at first; ${shown}`, budget: { of: "ratio", max } }
  }
  const failed = found.reduce((sum, part) => sum + part.failed, 0)
  return [
    row(
      `memory in ${(parts * 2 * scale).toFixed(0)} minutes at ${rate.toFixed(0)} calls/s`,
      "MiB",
      ({ mib }) => mib,
      1.1,
    ),
    row("p99 of an exchange, in each part of it", "ms", ({ p99 }) => p99, 1.5),
    row("open files", "", (part) => part.files, 1.2),
    { what: "open files at rest", unit: "", weir: files },
    { what: "calls that failed", unit: "", weir: failed, budget: { of: "value", max: 0 } },
  ]
}

interface Part {
  readonly mib: number
  readonly p99: number
  readonly files: number
  readonly failed: number
}

/** Calls at a rate for a time; each tenth one is a stream of 200 frames. */
const keep = async (weir: Weir, rate: number, forMs: number): Promise<Part> => {
  const agent = new Agent({ connections: 1000, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const [short, stream] = [weir.exchange("short"), weir.exchange("frames-200")]
  const ms: Array<number> = []
  let failed = 0
  const files: Array<number> = []
  const running = new Set<Promise<void>>()
  const call = async (isStream: boolean) => {
    try {
      const { status, wholeMs } = await one(agent, isStream ? stream : short)
      if (status !== 200) failed++
      else if (!isStream) ms.push(wholeMs)
    } catch {
      failed++
    }
  }
  const startedAt = performance.now()
  let begun = 0
  while (performance.now() - startedAt < forMs) {
    const due = ((performance.now() - startedAt) / 1000) * rate
    for (; begun < due; begun++) {
      const each: Promise<void> = call(begun % 10 === 0).then(() => {
        running.delete(each)
      })
      running.add(each)
    }
    if (begun % 100 === 0) files.push(filesOf(weir.pid))
    await sleep(2)
  }
  await Promise.all(running)
  await agent.destroy()
  ms.sort((a, b) => a - b)
  return { mib: residentBytes(weir.pid) / 2 ** 20, p99: percentile(ms, 0.99), files: median(files), failed }
}

const filesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length
