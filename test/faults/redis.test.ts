/** Lessons 14 and 17: a Redis that is frozen, gone, or back and empty. Needs a Redis of its own to hurt. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { createServer } from "node:net"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hello } from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, useGateway } from "../conformance/gateway.ts"

const hasRedis = spawnSync("redis-server", ["--version"]).status === 0

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const port = await freePort()
let redis: ChildProcess | undefined
const startRedis = async () => {
  redis = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], {
    stdio: "ignore",
  })
  await eventually(() => spawnSync("redis-cli", ["-p", String(port), "ping"]).stdout.includes("PONG"))
}
const stopRedis = async () => {
  const gone = new Promise((resolve) => redis?.once("exit", resolve))
  redis?.kill("SIGKILL")
  await gone
}

describe.skipIf(!hasRedis)("Redis in trouble", () => {
  beforeAll(startRedis)
  afterAll(stopRedis)
  const stores = { redisUrl: Redacted.make(`redis://127.0.0.1:${port}`), redisDeadlineMs: 200 }
  const enforcing = useGateway({ config: { ...stores, gateMode: "enforce" } })
  const shadowing = useGateway({ config: { ...stores, gateMode: "shadow" } })
  const works = async () => (await enforcing().exchange(hello)).status === 200

  it("frozen (SIGSTOP): enforce fails closed within its deadline, then at once; shadow passes; it heals by itself", async () => {
    expect(await works()).toBe(true)
    const before = await balanceOf(enforcing())
    redis?.kill("SIGSTOP")
    const startedAt = Date.now()
    const refused = await enforcing().exchange(hello)
    expect(Date.now() - startedAt).toBeLessThan(1000)
    expect(refused.headers.has("retry-after")).toBe(true)
    expect(await errorOf(refused)).toMatchObject({ status: 503, code: "plan_gate_unavailable" })
    await Promise.all(Array.from({ length: 20 }, () => enforcing().exchange(hello)))
    const breakerOpenAt = Date.now()
    expect((await enforcing().exchange(hello)).status).toBe(503)
    expect(Date.now() - breakerOpenAt).toBeLessThan(150)
    expect((await shadowing().exchange(hello)).status).toBe(200)
    expect(await balanceOf(enforcing())).toBe(before)
    redis?.kill("SIGCONT")
    await eventually(works)
    const metrics = await (await fetch(`${enforcing().baseUrl}/metrics`)).text()
    expect(metrics).toMatch(/weir_gate_failures_total\{mode="enforce"\} [1-9]/)
  })

  it("gone: the same, and the process lives; back and empty: a billed key is refused by the ledger", async () => {
    const requestId = randomUUID()
    expect((await enforcing().exchange({ ...hello, meta: { requestId } })).status).toBe(200)
    await stopRedis()
    expect(await errorOf(await enforcing().exchange(hello))).toMatchObject({ code: "plan_gate_unavailable" })
    expect((await shadowing().exchange(hello)).status).toBe(200)
    expect((await fetch(`${enforcing().baseUrl}/healthz`)).status).toBe(200)
    expect((await fetch(`${enforcing().baseUrl}/readyz`)).status).toBe(503)
    await startRedis()
    await eventually(works)
    const calls = enforcing().vendor.calls.length
    expect(await errorOf(await enforcing().exchange({ ...hello, meta: { requestId } }))).toMatchObject({
      status: 409,
      code: "idempotency_conflict",
      detail: { replayable: false },
    })
    expect(enforcing().vendor.calls.length).toBe(calls)
  })
})
