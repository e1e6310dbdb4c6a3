/**
 * Drives one endpoint with a fixed number of concurrent requests, and measures the process behind it.
 */
import { readdirSync, readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Agent } from "undici"

export interface Endpoint {
  readonly origin: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The status that every reply must have; 200 if absent. */
  readonly status?: number
}

export interface Run {
  readonly requests: number
  readonly seconds: number
  /** Milliseconds from the request to the first content byte, ascending. */
  readonly firstByteMs: ReadonlyArray<number>
  /** Milliseconds to the last byte, ascending. */
  readonly wholeMs: ReadonlyArray<number>
  readonly bytes: number
  /** Replies of another status than the endpoint's, by status. */
  readonly others: Readonly<Record<number, number>>
}

export interface DriveOptions {
  readonly requests: number
  readonly inFlight: number
  /** Over which the first ones start, so that streams of equal length are not synchronised. */
  readonly spreadMs?: number
  /** Whether replies of another status are counted; otherwise they end the run. */
  readonly countsOthers?: boolean
}

/** Runs a number of requests at a concurrency. @param endpoint the same for each, or the next one */
export const drive = async (endpoint: Endpoint | (() => Endpoint), options: DriveOptions): Promise<Run> => {
  const next = typeof endpoint === "function" ? endpoint : () => endpoint
  const { requests, inFlight, spreadMs = 0, countsOthers = false } = options
  const agent = new Agent({ connections: inFlight, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const firstByteMs: Array<number> = []
  const wholeMs: Array<number> = []
  const others: Record<number, number> = {}
  let bytes = 0
  let left = requests
  const startedAt = performance.now()
  const worker = async (_: unknown, at: number) => {
    if (spreadMs > 0) await sleep((spreadMs * at) / inFlight)
    while (left-- > 0) {
      const asked = next()
      const reply = await one(agent, asked)
      bytes += reply.bytes
      if (reply.status === (asked.status ?? 200)) {
        firstByteMs.push(reply.firstByteMs)
        wholeMs.push(reply.wholeMs)
      } else if (countsOthers) {
        others[reply.status] = (others[reply.status] ?? 0) + 1
      } else {
        throw new Error(`${asked.origin}${asked.path} answered ${reply.status}`)
      }
    }
  }
  await Promise.all(Array.from({ length: inFlight }).map(worker))
  const seconds = (performance.now() - startedAt) / 1000
  await agent.destroy()
  return { requests, seconds, firstByteMs: ascending(firstByteMs), wholeMs: ascending(wholeMs), bytes, others }
}

interface One {
  readonly status: number
  readonly firstByteMs: number
  readonly wholeMs: number
  readonly bytes: number
}

/** One request, to its last byte. */
export const one = (agent: Agent, { origin, path, headers, body }: Endpoint): Promise<One> =>
  new Promise((resolve, reject) => {
    const sentAt = performance.now()
    let firstByteMs = 0
    let bytes = 0
    let status = 0
    agent.dispatch(
      { origin, path, method: "POST", headers: { "content-type": "application/json", ...headers }, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code
        },
        onResponseData(_controller, chunk) {
          if (bytes === 0) firstByteMs = performance.now() - sentAt
          bytes += chunk.length
        },
        onResponseEnd() {
          resolve({ status, firstByteMs, wholeMs: performance.now() - sentAt, bytes })
        },
        onResponseError(_controller, error) {
          reject(error)
        },
      },
    )
  })

const ascending = (values: ReadonlyArray<number>): ReadonlyArray<number> => [...values].sort((a, b) => a - b)

/** @param sorted ascending */
export const percentile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

export const median = (values: ReadonlyArray<number>): number => percentile(ascending(values), 0.5)

/** The median of what each round has there. @param rounds each ascending */
export const percentileOfRounds = (rounds: ReadonlyArray<ReadonlyArray<number>>, share: number): number =>
  median(rounds.map((round) => percentile(round, share)))

/** CPU seconds that the threads of a process have used, to the nanosecond (Linux with scheduler statistics). */
export const cpuSeconds = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + threadNanoseconds(pid, thread), 0) / 1e9

const threadNanoseconds = (pid: number, thread: string): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0])
  } catch {
    // It has ended meanwhile.
    return 0
  }
}

/** The fields of a process's stat after its name: state, parent, … (Linux). */
export const statOf = (pid: number): ReadonlyArray<string> => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

/** Bytes of memory that a process has (Linux). */
export const residentBytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024

/** The limit of open files of a process (Linux). */
export const openFilesLimit = (): number =>
  Number(/Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 1024)
