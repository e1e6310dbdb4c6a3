/** Load shedding: at the limit of open exchanges, and while the event loop is late. */
import { randomUUID } from "node:crypto"
import { describe, expect, it } from "vitest"
import { capacityOf, readMachine } from "../../../src/admission/capacity.ts"
import { nextMaxWaiting, nextShare } from "../../../src/admission/overload.ts"
import { answering, hello, newTestIds } from "../../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../../support/gateway.ts"

describe("the share of refused calls", () => {
  const shareAfter = (lags: ReadonlyArray<number>, from = 0) =>
    lags.reduce((share, lag) => nextShare(share, lag / 100), from)
  const steady = (lag: number, times: number) => Array.from({ length: times }, () => lag)

  it("is zero while the loop is on time, and nearly zero after one late turn", () => {
    expect(shareAfter(steady(100, 1000))).toBe(0)
    expect(shareAfter([150])).toBeLessThan(0.1)
  })

  it("rises to nearly 1 within half a second while the loop stays late, and never to 1", () => {
    expect(shareAfter(steady(500, 25))).toBeGreaterThan(0.9)
    expect(shareAfter(steady(10_000, 1000))).toBe(0.98)
  })

  it("rises faster with more pressure", () => {
    expect(shareAfter(steady(400, 3))).toBeGreaterThan(shareAfter(steady(110, 3)))
  })

  it("is unchanged while the loop is just on time", () => {
    expect(shareAfter(steady(80, 1000), 0.4)).toBe(0.4)
  })

  it("falls to zero within seconds", () => {
    const falling = steady(0, 800)
    expect(shareAfter(falling, 0.98)).toBe(0)
    expect(shareAfter(falling.slice(0, 20), 0.98)).toBeGreaterThan(0.5)
  })
})

describe("how many may wait", () => {
  it("falls by a fifth while waits are too long, but not below the minimum", () => {
    expect(nextMaxWaiting(20_000, 1.2, 400)).toBe(320)
    expect(nextMaxWaiting(100, 5, 400)).toBe(80)
    expect(nextMaxWaiting(20, 50, 20)).toBe(16)
  })

  it("grows while there is room, and converges where the wait is as long as allowed", () => {
    // Calls wait as long as those before them take: 800 a second, a quarter of a second allowed.
    let most = 20_000
    for (let window = 0; window < 100; window++) most = nextMaxWaiting(most, most / 800 / 0.25, Math.min(most, 3000))
    expect(most).toBeGreaterThan(140)
    expect(most).toBeLessThan(260)
    expect(nextMaxWaiting(100, 0.5, 10)).toBe(110)
  })
})

describe("the exchanges that a process may have open", () => {
  const options = { configured: 20_000, storeFiles: 10 }
  const roomy = { maxFiles: 1_048_576, openFiles: 40, ports: 28_232, freeBytes: 4 * 1024 ** 3 }

  it("are as many as configured where the machine allows more", () => {
    expect(capacityOf(roomy, options)).toMatchObject({ exchanges: 20_000, by: "configured" })
    const unknown = { ...roomy, maxFiles: undefined, ports: undefined }
    expect(capacityOf(unknown, options)).toEqual({ exchanges: 20_000, by: "configured", connections: undefined })
  })

  it("have two files each, and leave files for stores, operators and callers that are refused", () => {
    const capacity = capacityOf({ ...roomy, maxFiles: 200 }, options)
    expect(capacity).toEqual({ exchanges: 47, by: "files", connections: 71 })
    expect(2 * capacity.exchanges).toBeLessThan(200 - 40 - 10 - 32)
    expect(capacityOf({ ...roomy, maxFiles: 20_000 }, options)).toMatchObject({ exchanges: 9895, connections: 10_023 })
    expect(capacityOf({ ...roomy, maxFiles: 10 }, options)).toMatchObject({ exchanges: 2, connections: 3 })
  })

  it("are no more than ports and memory allow", () => {
    expect(capacityOf({ ...roomy, ports: 1000 }, options)).toMatchObject({ exchanges: 800, by: "ports" })
    expect(capacityOf({ ...roomy, freeBytes: 64 * 1024 ** 2 }, options)).toMatchObject({ exchanges: 409, by: "memory" })
  })

  it("are worked out from this machine", () => {
    const { maxFiles = 0, openFiles } = readMachine()
    if (process.platform === "linux") expect(maxFiles).toBeGreaterThan(openFiles)
  })
})

describe("an overloaded gateway", () => {
  const slow = answering({ words: ["a", "b", "c"], inTokens: 1, outTokens: 3 }, 300)
  const bounded = useGateway({ ids: newTestIds(), script: slow, config: { maxOpenExchanges: 2 } })
  const waiting = useGateway({ ids: newTestIds(), config: { shedWaitMs: 1 } })
  const late = useGateway({ ids: newTestIds(), config: { shedLagMs: 50 } })

  it("rate_limited with Retry-After beyond the exchanges that it may have open; those go on", async () => {
    const open = await Promise.all([1, 2].map(() => bounded().exchange({ ...hello, stream: true })))
    const refused = await bounded().exchange(hello)
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    expect(await errorOf(refused)).toMatchObject({ status: 429, code: "rate_limited", detail: { scope: "gateway" } })
    for (const stream of open) expect(await stream.text()).toContain("t.close")
    await eventually(async () => (await bounded().exchange(hello)).status === 200)
  })

  /** A call whose request id must be looked up: it waits for the database. */
  const lookedUp = () => ({ ...hello, meta: { requestId: randomUUID() } })

  it("few slow calls do not count as overload; many calls that all wait do", async () => {
    for (let count = 0; count < 10; count++) expect((await waiting().exchange(hello)).status).toBe(200)
    const statuses: Array<number> = []
    const asking = Array.from({ length: 40 }, async () => {
      for (let count = 0; count < 15; count++) statuses.push((await waiting().exchange(lookedUp())).status)
    })
    await Promise.all(asking)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
  })

  it("refuses calls while its event loop is late, before reading them, and serves again afterwards", async () => {
    const statuses: Array<number> = []
    const asking = (async () => {
      for (let count = 0; count < 60; count++) statuses.push((await late().exchange(hello)).status)
    })()
    // Blocks the event loop as load does, without taking a core from other tests.
    const never = new Int32Array(new SharedArrayBuffer(4))
    for (let turn = 0; turn < 12; turn++) {
      Atomics.wait(never, 0, 0, 200)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await asking
    expect(statuses).toContain(429)
    await eventually(async () => (await late().exchange(hello)).status === 200, 10_000)
    const metrics = await (await fetch(`${late().baseUrl}/metrics`)).text()
    expect(metrics).toMatch(/weir_shed_total\{cause="busy"\} [1-9]/)
  })
})
