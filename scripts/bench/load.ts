/** Drives one endpoint with a fixed number of requests in flight, and takes the CPU time of the process behind it. */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Agent } from "undici"

export interface Endpoint {
  readonly origin: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Run {
  readonly requests: number
  readonly seconds: number
  /** Milliseconds from the request to the first content byte, ascending. */
  readonly firstByteMs: ReadonlyArray<number>
  readonly bytes: number
}

/**
 * Runs `requests` requests, `inFlight` at a time; every reply must be a 200.
 * @param spreadMs over which the first ones start, so that streams of equal length do not march in step
 */
export const drive = async (endpoint: Endpoint, requests: number, inFlight: number, spreadMs = 0): Promise<Run> => {
  const agent = new Agent({ connections: inFlight, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const firstByteMs: Array<number> = []
  let bytes = 0
  let left = requests
  const startedAt = performance.now()
  const worker = async (_: unknown, at: number) => {
    if (spreadMs > 0) await sleep((spreadMs * at) / inFlight)
    while (left-- > 0) {
      const reply = await one(agent, endpoint)
      firstByteMs.push(reply.firstByteMs)
      bytes += reply.bytes
    }
  }
  await Promise.all(Array.from({ length: inFlight }).map(worker))
  const seconds = (performance.now() - startedAt) / 1000
  await agent.destroy()
  return { requests, seconds, firstByteMs: firstByteMs.sort((a, b) => a - b), bytes }
}

const one = (agent: Agent, { origin, path, headers, body }: Endpoint) =>
  new Promise<{ firstByteMs: number; bytes: number }>((resolve, reject) => {
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
          if (status === 200) resolve({ firstByteMs, bytes })
          else reject(new Error(`${origin}${path} answered ${status}`))
        },
        onResponseError(_controller, error) {
          reject(error)
        },
      },
    )
  })

export const percentile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

const ticksPerSecond = 100

/** CPU seconds that a process has used, all its threads together (Linux). */
export const cpuSeconds = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}
