/**
 * `taskset -c 0 scripts/with-stores node scripts/bench/graph.ts load FILE.svg`: throughput and p99 against offered
 * load, up to three times the gateway's capacity. `graph.ts memory FILE.svg`: its memory against open streams.
 * Requests arrive at their rate, whether or not earlier ones have been answered (an open loop).
 */
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { Agent } from "undici"
import { type Chart, charts } from "./chart.ts"
import { drive, type Endpoint, one, openFilesLimit, percentile, residentBytes } from "./load.ts"
import { openStreams } from "./open-streams.ts"
import { canPin, startSubjects } from "./subjects.ts"

const [, , what = "load", file = `${what}.svg`] = process.argv
/** Share of the effort: less for a quick look, 1 for a published graph. */
const scale = Number(process.env["BENCH_SCALE"] ?? 1)
const seconds = 7 * scale
/** Start of the measurement, after the warm-up. */
const settledAfterMs = 3000 * scale
const stepMs = 5

// The gateway and its stores have one core, the load and the vendor the other, so that the load is not the bottleneck.
if (canPin) spawnSync("taskset", ["-cp", "1", String(process.pid)])

interface Offered {
  readonly perSecond: number
  readonly served: number
  readonly refused: number
  readonly p99Ms: number
}

const offer = async (endpoint: Endpoint, perSecond: number): Promise<Offered> => {
  const agent = new Agent({ connections: 2048, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const wholeMs: Array<number> = []
  let refused = 0
  let sent = 0
  const startedAt = performance.now()
  const pending: Array<Promise<void>> = []
  const ask = async (counts: boolean) => {
    // A connection that is not accepted counts as refused, too.
    const reply = await one(agent, endpoint).catch(() => undefined)
    if (!counts) return
    if (reply?.status === 200) wholeMs.push(reply.wholeMs)
    else refused++
  }
  for (let at = 0; at < seconds * 1000; at = performance.now() - startedAt) {
    for (; sent < (at / 1000) * perSecond; sent++) pending.push(ask(at > settledAfterMs))
    await sleep(stepMs)
  }
  const elapsed = (performance.now() - startedAt - settledAfterMs) / 1000
  await Promise.all(pending)
  await agent.destroy()
  const served = wholeMs.length / elapsed
  const sorted = [...wholeMs].sort((a, b) => a - b)
  return { perSecond, served, refused: refused / elapsed, p99Ms: percentile(sorted, 0.99) }
}

const loadCharts = async (): Promise<ReadonlyArray<Chart>> => {
  // With the default limits: load shedding is what the graph shows.
  const { weir, stop } = await startSubjects(20, {})
  const endpoint = weir.exchange("short")
  await drive(endpoint, { requests: 6000 * scale, inFlight: 64, countsOthers: true })
  const sample = await drive(endpoint, { requests: 4000 * scale, inFlight: 64, countsOthers: true })
  const capacity = sample.wholeMs.length / sample.seconds
  const offered: Array<Offered> = []
  for (const share of [0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3]) {
    const result = await offer(endpoint, share * capacity)
    console.log(share, JSON.stringify(result))
    offered.push(result)
    await sleep(2000 * scale)
  }
  stop()
  const x = "offered exchanges a second"
  return [
    {
      title: `Throughput (${cpus()[0]?.model}, gateway and stores on one core)`,
      x,
      y: "a second",
      lines: [
        { name: "served", colour: "#0b5cad", points: offered.map(({ perSecond, served }) => [perSecond, served]) },
        {
          name: "refused",
          colour: "#a3131f",
          points: offered.map(({ perSecond, refused }) => [perSecond, refused]),
        },
      ],
    },
    {
      title: "p99 of what was served",
      x,
      y: "milliseconds",
      lines: [{ name: "p99", colour: "#0b5cad", points: offered.map(({ perSecond, p99Ms }) => [perSecond, p99Ms]) }],
    },
  ]
}

const memoryChart = async (): Promise<Chart> => {
  const { floor, weir, stop } = await startSubjects(2000)
  const points = { floor: [] as [number, number][], weir: [] as [number, number][] }
  for (const [name, subject] of [
    ["floor", floor],
    ["weir", weir],
  ] as const) {
    await drive(subject.exchange("short"), { requests: 500, inFlight: 16 })
    const groups: Array<ReturnType<typeof openStreams>> = []
    points[name].push([0, residentBytes(subject.pid) / 2 ** 20])
    for (const steps of [1000, 1500, 2500, Math.min(5000, openFilesLimit() / 2 - 5100)]) {
      const more = Math.round(steps * scale)
      const group = openStreams(subject.exchange("paced-200"), more)
      groups.push(group)
      await group.allOpen
      await sleep(2000 * scale)
      const [open] = points[name].at(-1) ?? [0]
      points[name].push([open + more, residentBytes(subject.pid) / 2 ** 20])
      console.log(name, JSON.stringify(points[name].at(-1)))
    }
    for (const group of groups) await group.close()
  }
  stop()
  return {
    title: "Memory against open streams",
    x: "open streams",
    y: "resident MiB",
    lines: [
      { name: "Weir", colour: "#0b5cad", points: points.weir },
      { name: "floor", colour: "#777", points: points.floor },
    ],
  }
}

writeFileSync(file, charts(what === "memory" ? [await memoryChart()] : await loadCharts()))
process.exit(0)
