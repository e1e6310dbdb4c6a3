/** Many concurrent streams; each is restarted when it ends, so that their number is constant. */
import { setTimeout as sleep } from "node:timers/promises"
import { Agent } from "undici"
import type { Endpoint } from "./load.ts"

export interface OpenStreams {
  /** Once each has had its first byte. */
  readonly allOpen: Promise<void>
  /** Frames received so far. */
  readonly frames: () => number
  /** Milliseconds until the first bytes of those that were opened first, ascending. */
  readonly firstMs: () => ReadonlyArray<number>
  /** Streams that ended with an error. */
  readonly broken: () => number
  readonly close: () => Promise<void>
}

/** The number of streams that start at once, and the pause between: the start itself is not measured. */
const batch = 50
const apartMs = 120
const blankLine = 0x0a

export const openStreams = ({ origin, path, headers, body }: Endpoint, count: number): OpenStreams => {
  const agent = new Agent({ connections: count + batch, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  let frames = 0
  let broken = 0
  let opened = 0
  let closed = false
  const firstMs: Array<number> = []
  const begin = (onFirst: (ms: number) => void) => {
    let first = true
    const sentAt = performance.now()
    agent.dispatch(
      { origin, path, method: "POST", headers: { "content-type": "application/json", ...headers }, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, status) {
          if (status !== 200) broken++
        },
        onResponseData(_controller, chunk) {
          if (first) onFirst(performance.now() - sentAt)
          first = false
          for (let at = 1; at < chunk.length; at++) {
            if (chunk[at] === blankLine && chunk[at - 1] === blankLine) frames++
          }
        },
        onResponseEnd() {
          if (!closed) begin(() => {})
        },
        onResponseError() {
          if (!closed) broken++
        },
      },
    )
  }
  const allOpen = (async () => {
    for (let at = 0; at < count; at += batch) {
      for (let one = at; one < Math.min(count, at + batch); one++)
        begin((ms) => {
          opened++
          firstMs.push(ms)
        })
      await sleep(apartMs)
    }
    for (let tries = 0; opened + broken < count && tries < 600; tries++) await sleep(100)
  })()
  return {
    allOpen,
    frames: () => frames,
    firstMs: () => firstMs.toSorted((a, b) => a - b),
    broken: () => broken,
    close: async () => {
      closed = true
      await agent.destroy()
    },
  }
}
