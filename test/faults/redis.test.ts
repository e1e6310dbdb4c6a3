/** Lessons 14 and 17: a Redis that is frozen, gone, or back and empty. Needs a Redis of its own. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Redacted, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startGateway } from "../../src/testing/gateway.ts"
import { hello, readEvents } from "../../src/testing/index.ts"
import { freePort } from "../support/free-port.ts"
import { balanceOf, errorOf, eventually, useGateway } from "../support/gateway.ts"

const decodeSession = Schema.decodeUnknownSync(Schema.Struct({ sessionId: Schema.String }))

/** Calls that name an organisation's keys; what their scripts do is not counted. */
const callsIn = (text: string, orgId: string): number =>
  text.split("\n").filter((line) => line.includes(`{${orgId}}`) && /"eval(sha)?"/.test(line)).length

const hasRedis = spawnSync("redis-server", ["--version"]).status === 0

const port = await freePort()
let redis: ChildProcess | undefined
const startRedis = async () => {
  redis = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], {
    stdio: "ignore",
  })
  await eventually(() => spawnSync("redis-cli", ["-p", String(port), "ping"]).stdout.includes("PONG"))
}
const stopRedis = async () => {
  if (redis?.signalCode !== null) return
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
  /** A heartbeat asks Redis each time; an exchange may be counted by the node itself. */
  const works = async () => (await enforcing().call("POST", "/t1/heartbeat", {})).status === 200

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

  it("heartbeat rule 8: while the gate does not answer, only registered sessions inside the window pass", async () => {
    const beat = (body: object) => enforcing().call("POST", "/t1/heartbeat", body)
    const { sessionId } = decodeSession(await (await beat({})).json())
    const ulid = "01J0000000000000000000000Z"
    redis?.kill("SIGSTOP")
    expect(decodeSession(await (await beat({ sessionId })).json())).toEqual({ sessionId })
    for (const body of [{}, { sessionId: ulid }, { sessionId: "ses_unknown" }]) {
      expect(await errorOf(await beat(body))).toMatchObject({ status: 503, code: "plan_gate_unavailable" })
    }
    // Another node has not seen the session: it reads the database.
    await eventually(async () => {
      const [row] = await Effect.runPromise(
        enforcing().sql<{ id: string }>`select id from sessions where id = ${sessionId}`,
      )
      return row !== undefined
    })
    redis?.kill("SIGCONT")
    await eventually(works)
    expect((await beat({ sessionId: ulid })).status).toBe(200)
  })

  it("a heartbeat inside the window is one call to Redis, and needs no database to write to", async () => {
    const { sql, orgId } = enforcing()
    const beat = (body: object) => enforcing().call("POST", "/t1/heartbeat", body)
    const { sessionId } = decodeSession(await (await beat({})).json())
    await beat({ sessionId })
    const monitor = spawn("redis-cli", ["-p", String(port), "monitor"])
    const seen = { text: "" }
    monitor.stdout.on("data", (chunk) => {
      seen.text += chunk
    })
    await eventually(() => seen.text.startsWith("OK"))
    await Effect.runPromise(sql`alter table sessions rename to sessions_away`)
    for (let at = 0; at < 10; at++) expect((await beat({ sessionId })).status).toBe(200)
    await Effect.runPromise(sql`alter table sessions_away rename to sessions`)
    await eventually(() => callsIn(seen.text, orgId) >= 10)
    await sleep(100)
    monitor.kill()
    expect(callsIn(seen.text, orgId)).toBe(10)
  })

  it("stopped: the same, and the process lives; back and empty: a billed request has its reply again, a billed stream is refused", async () => {
    const withId = { ...hello, meta: { requestId: randomUUID() } }
    const first = await enforcing().exchange(withId)
    expect(first.status).toBe(200)
    const streamed = { ...hello, meta: { requestId: randomUUID() }, stream: true }
    await readEvents(await enforcing().exchange(streamed))
    await stopRedis()
    // The node may have a share of the rate, which lasts a second.
    await eventually(async () => (await enforcing().exchange(hello)).status === 503)
    expect(await errorOf(await enforcing().exchange(hello))).toMatchObject({ code: "plan_gate_unavailable" })
    expect((await shadowing().exchange(hello)).status).toBe(200)
    expect((await fetch(`${enforcing().baseUrl}/healthz`)).status).toBe(200)
    expect((await fetch(`${enforcing().baseUrl}/readyz`)).status).toBe(503)
    // A node that admits calls is ready, or a balancer would take away what the mode is to keep.
    const admin = { "x-svc-admin-key": shadowing().adminKey }
    const readiness = await fetch(`${shadowing().baseUrl}/readyz`, { headers: admin })
    expect([readiness.status, await readiness.json()]).toMatchObject([200, { status: "ready", gate: false }])
    await startRedis()
    await eventually(works)
    const calls = enforcing().vendor.calls.length
    const again = await enforcing().exchange(withId)
    expect([again.status, again.headers.get("x-svc-idempotent-replay")]).toEqual([200, "1"])
    expect(await again.text()).toBe(await first.text())
    const other = { ...withId, params: { maxTokens: 7 } }
    expect(await errorOf(await enforcing().exchange(other))).toMatchObject({
      status: 409,
      message: expect.stringContaining("different payload"),
    })
    expect(await errorOf(await enforcing().exchange(streamed))).toMatchObject({
      status: 409,
      code: "idempotency_conflict",
      detail: { replayable: false },
    })
    expect(enforcing().vendor.calls.length).toBe(calls)
  })

  it.each(["off", "shadow"] as const)(
    "gone at the start: with the mode %s a node starts, is ready, and serves",
    async (gateMode) => {
      const redisUrl = Redacted.make(`redis://127.0.0.1:${await freePort()}`)
      const program = Effect.gen(function* () {
        const { baseUrl, exchange } = yield* startGateway({ config: { ...stores, redisUrl, gateMode } })
        const ready = yield* Effect.promise(() => fetch(`${baseUrl}/readyz`))
        const served = yield* Effect.promise(() => exchange(hello))
        return [ready.status, served.status]
      })
      expect(await Effect.runPromise(Effect.scoped(program))).toEqual([200, 200])
    },
    20_000,
  )
})
