/**
 * The resources of an exchange that can be counted: bytes allocated, bytes that stay until all is collected, and system calls. None
 * depends on the machine's mood.
 */
import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { drive, type Endpoint, median } from "./load.ts"
import { longTwp } from "./long-requests.ts"
import { startMeasured } from "./preloaded.ts"
import type { Row, Scenario } from "./scenario.ts"
import type { Weir } from "./subjects.ts"

const hasStrace = spawnSync("strace", ["-V"]).status === 0

/** System calls of a process while it answers so many requests, by the request. */
const callsOf = async (weir: Weir, endpoint: Endpoint, requests: number, file: string): Promise<number> => {
  const tracing = spawn("strace", ["-c", "-f", "-o", file, "-p", String(weir.pid)], { stdio: "ignore" })
  await sleep(1500)
  await drive(endpoint, { requests, inFlight: 32 })
  const ended = new Promise((resolve) => tracing.once("exit", resolve))
  tracing.kill("SIGINT")
  await ended
  const [, total = "0"] = /^\s*100\.00\s+\S+\s+\S*\s*(\d+)/m.exec(readFileSync(file, "utf8")) ?? []
  return Number(total) / requests
}

/** The requests, and the number of each. */
const asked = (weir: Weir, scale: number) =>
  [
    ["JSON exchange", weir.exchange("short"), 4000 * scale],
    ["stream of 200 frames", weir.exchange("frames-200"), 400 * scale],
    ["request of 184 KB", weir.call("/t1/exchange", longTwp("agent")), 400 * scale],
    [
      "heartbeat inside the window",
      weir.call("/t1/heartbeat", { sessionId: "01J0000000000000000000000A" }),
      2000 * scale,
    ],
  ] as const

export const counted: Scenario = async (subjects, effort) => [
  ...(await allocations(subjects, effort)),
  ...(await remains(subjects, effort)),
]

/** The bytes that outlive the collections of young objects: they stay until V8 collects everything, which stops all streams. */
const remains: Scenario = async (subjects, { scale }) => {
  const { weir, read: kept, remove } = await startMeasured(subjects, "kept")
  const rows: Array<Row> = []
  for (const [what, endpoint, requests] of asked(weir, scale)) {
    const drove = () => drive(endpoint, { requests, inFlight: 32 })
    await drove()
    const grown: Array<number> = []
    for (let round = 0; round < 3; round++) {
      const before = await kept()
      await drove()
      grown.push(((await kept()) - before) / requests / 1024)
    }
    rows.push({
      what: `bytes of a ${what} that outlive young collections`,
      unit: "KiB",
      weir: median(grown),
      note: "32 in flight; less than nothing: all was collected",
    })
  }
  remove()
  return rows
}

const allocations: Scenario = async (subjects, { scale }) => {
  const { weir, read: allocated, dir, remove } = await startMeasured(subjects, "allocated")
  const rows: Array<Row> = []
  for (const [what, endpoint, requests] of asked(weir, scale)) {
    await drive(endpoint, { requests: 2 * requests, inFlight: 32 })
    const before = await allocated()
    await drive(endpoint, { requests, inFlight: 32 })
    rows.push({
      what: `bytes allocated a ${what}`,
      unit: "KiB",
      weir: ((await allocated()) - before) / requests / 1024,
    })
    if (!hasStrace) continue
    const calls = await callsOf(weir, endpoint, requests, join(dir, "calls"))
    rows.push({ what: `system calls a ${what}`, unit: "", weir: calls, note: "32 in flight, all threads" })
  }
  remove()
  return rows
}
