/**
 * `npm run bench -- --peers`: gateways that can be had from npm and PyPI, beside Weir and the floor, in one run. They are
 * installed into BENCH_PEERS_DIR (a folder beside the system's temporary ones when not set) at the first run. With
 * BENCH_AISIX, the folder of aisix's source (github.com/api7/aisix), that is built with cargo and measured too; with
 * BENCH_GOMODEL, that of GoModel's (github.com/ENTERPILOT/GoModel), with go. BENCH_PEERS names those that are measured
 * (`aisix,Portkey`); without it, all are.
 */

import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, readdirSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "../../test/support/free-port.ts"
import type { Cost, Measured, PeerFigures } from "./front-page.ts"
import { cpuSeconds, drive, type Endpoint, median, percentile, residentBytes, statOf } from "./load.ts"
import { longChat, longTwp } from "./long-requests.ts"
import { folder, type Peer, peers } from "./peer-gateways.ts"
import type { Effort } from "./scenario.ts"
import { warmUp } from "./scenarios.ts"
import { type Answer, canPin, type Subject, type Subjects } from "./subjects.ts"

/** Prints one table: the floor, Weir and the peers, and returns it. */
export const comparePeers = async (subjects: Subjects, effort: Effort): Promise<ReadonlyArray<PeerFigures>> => {
  const figures: Array<PeerFigures> = []
  const add = (name: string, version: string, lacks: string, measured: Measured) => {
    print(`${name} ${version}`.trim(), measured, lacks)
    figures.push({ name, version, ...measured })
  }
  mkdirSync(folder, { recursive: true })
  const { direct, floor, weir } = subjects
  const vendor = direct.exchange("short").origin
  await warmUp(subjects, effort)
  const base = await firstFrames(direct, effort)
  console.log(
    "| gateway | JSON CPU | exchanges/s | one at a time, p50 | request of 184 KB | stream of 200 frames | frame | added first frame p50 / p99 | resident | lacks |",
  )
  console.log("|---|---|---|---|---|---|---|---|---|---|")
  for (const [subject, lacks] of [
    [floor, "everything but passing on"],
    [weir, ""],
  ] as const) {
    const longRequest = subject === weir ? longTwp("agent") : longChat("short")
    add(subject === weir ? "Weir" : subject.name, "", lacks, await measure(subject, base, effort, longRequest))
  }
  const named = process.env["BENCH_PEERS"]?.split(",") ?? peers.map(({ name }) => name)
  for (const peer of peers.filter(({ name }) => named.includes(name))) {
    const version = peer.install()
    const { subject, stop } = await startPeer(peer, vendor)
    try {
      add(peer.name, version, peer.lacks, await measure(subject, base, effort, longChat("short")))
    } finally {
      stop()
    }
  }
  return figures
}

const print = (
  name: string,
  { json, stream, long, request, aloneMs, firstMs, residentMib }: Measured,
  lacks: string,
) => {
  const shown = (value: number | undefined, unit: string, digits = 0) =>
    value === undefined ? "failed" : `${value.toFixed(digits)} ${unit}`
  const frameUs = stream === undefined || long === undefined ? undefined : (long.us - stream.us) / 2000
  const cells = [
    shown(json?.us, "µs"),
    shown(json?.perSecond, ""),
    shown(aloneMs, "ms", 2),
    shown(request?.us, "µs"),
    shown(stream?.us, "µs"),
    shown(frameUs, "µs", 2),
    firstMs === undefined ? "failed" : `${firstMs.map((ms) => ms.toFixed(1)).join(" / ")} ms`,
    shown(residentMib, "MiB"),
  ]
  console.log(`| ${[name, ...cells, lacks].join(" | ")} |`)
}

/** @param longRequest the body of a long request, in the API that the subject speaks */
const measure = async (
  subject: Subject,
  base: ReadonlyArray<number>,
  effort: Effort,
  longRequest: object,
): Promise<Measured> => {
  const { rounds, scale } = effort
  const cost = async (endpoint: Endpoint, least: number, inFlight: number): Promise<Cost> => {
    const warm = await drive(endpoint, { requests: least, inFlight })
    // The figures of a short round are noise; slow gateways would take minutes for a long one.
    const requests = least * Math.min(8, Math.max(1, Math.round(roundSeconds / warm.seconds)))
    const us: Array<number> = []
    const rates: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      const before = treeCpuSeconds(subject.pid)
      const { seconds } = await drive(endpoint, { requests, inFlight })
      us.push(((treeCpuSeconds(subject.pid) - before) * 1e6) / requests)
      rates.push(requests / seconds)
    }
    return { us: median(us), perSecond: median(rates) }
  }
  const added = async () => {
    const first = await firstFrames(subject, effort)
    return [0.5, 0.99].map((share) => percentile(first, share) - percentile(base, share))
  }
  const alone = async () =>
    percentile((await drive(subject.exchange("short"), { requests: 400 * scale, inFlight: 1 })).wholeMs, 0.5)
  const failures = new Set<string>()
  const ifItWorks = <A>(what: string, figure: Promise<A>): Promise<A | undefined> =>
    figure.catch((error: unknown) => {
      failures.add(`${what}: ${String(error).replace(/^Error: |http:\/\/[^/]*/g, "")}`)
      return undefined
    })
  return {
    json: await ifItWorks("exchanges", cost(subject.exchange("short"), 2000 * scale, 32)),
    stream: await ifItWorks("streams", cost(subject.exchange("frames-200"), 100 * scale, 16)),
    long: await ifItWorks("streams", cost(subject.exchange("frames-2200"), 30 * scale, 16)),
    request: await ifItWorks(
      "long requests",
      cost({ ...subject.exchange("short"), body: JSON.stringify(longRequest) }, 200 * scale, 8),
    ),
    aloneMs: await ifItWorks("exchanges", alone()),
    firstMs: await ifItWorks("streams", added()),
    residentMib: treeOf(subject.pid).reduce((sum, pid) => sum + residentBytes(pid), 0) / 2 ** 20,
    failures: [...failures],
  }
}

const roundSeconds = 1.5

/** Milliseconds to the first content, 64 in flight, ascending. */
const firstFrames = async (subject: Subject, { scale }: Effort) =>
  (await drive(subject.exchange("paced-20"), { requests: 640 * scale, inFlight: 64, spreadMs: 400 })).firstByteMs

const startPeer = async (peer: Peer, vendor: string) => {
  const port = await freePort()
  const [program = "", ...args] = [...(canPin ? ["taskset", "-c", "0"] : []), ...peer.command(port, vendor)]
  const child: ChildProcess = spawn(program, args, { stdio: "ignore", cwd: folder, detached: true })
  const exchange = (answer: Answer): Endpoint => ({
    origin: `http://127.0.0.1:${port}`,
    path: "/v1/chat/completions",
    headers: peer.headers(vendor),
    body: JSON.stringify({
      model: answer,
      stream: answer !== "short",
      messages: [{ role: "user", content: "Hello, river" }],
    }),
  })
  const subject: Subject = { name: peer.name, pid: child.pid ?? 0, exchange }
  const stop = () => {
    for (const pid of treeOf(subject.pid).reverse()) process.kill(pid, "SIGKILL")
  }
  for (let tries = 0; ; tries++) {
    try {
      await drive(exchange("short"), { requests: 1, inFlight: 1 })
      return { subject, stop }
    } catch (error) {
      if (tries < 120) await sleep(500)
      else throw error
    }
  }
}

/** A process and all that it has started (Linux). */
const treeOf = (root: number): Array<number> => {
  const parents = new Map<number, number>()
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue
    try {
      parents.set(Number(name), Number(statOf(Number(name))[1]))
    } catch {
      // It has ended meanwhile.
    }
  }
  const tree = [root]
  for (const pid of tree) for (const [child, parent] of parents) if (parent === pid) tree.push(child)
  return tree
}

const treeCpuSeconds = (root: number) => treeOf(root).reduce((sum, pid) => sum + cpuSeconds(pid), 0)
