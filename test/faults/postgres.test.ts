/**
 * Lessons 12, 15 and 16, and the journal: a PostgreSQL that is full, gone, and back. It needs a server of its own.
 */
import { execFileSync, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, hello, readEvents } from "../../src/testing/index.ts"
import { hasServers, postgres, type Service } from "../support/faults/processes.ts"
import { freePort } from "../support/free-port.ts"
import { errorOf, eventually, lastUsage, replyOf, useGateway } from "../support/gateway.ts"

describe.skipIf(!hasServers())("PostgreSQL in trouble", async () => {
  const dir = mkdtempSync(join(tmpdir(), "weir-postgres-"))
  chmodSync(dir, 0o755)
  const port = await freePort()
  let server: Service | undefined
  const asWeir = ["-h", "127.0.0.1", "-p", String(port), "-U", "weir", "-qAt", "postgres"]
  const psql = (sql: string) => execFileSync("psql", [...asWeir, "-c", sql])
  beforeAll(async () => {
    server = postgres(join(dir, "pg"), port)
    await server.start()
    psql("create role gateway login; alter database postgres owner to gateway")
  })
  afterAll(async () => {
    await server?.kill()
    rmSync(dir, { recursive: true, force: true })
  })
  const gateway = useGateway({
    config: {
      databaseUrl: Redacted.make(`postgres://gateway@127.0.0.1:${port}/postgres`),
      databaseConnections: 3,
      databaseDeadlineMs: 1000,
      settlePatienceMs: 300,
      dataDir: dir,
    },
  })
  const answer = answering({ words: ["done"], inTokens: 10, outTokens: 1 })
  const works = async () => (await gateway().exchange(hello)).status === 200

  it("lesson 15: full, it is internal_error and retryable, never an authentication error; known keys keep working", async () => {
    expect(await works()).toBe(true)
    // The gateway's connections are closed, and new ones are refused: 53300, too many connections.
    psql("alter role gateway connection limit 0")
    psql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'gateway'")
    await eventually(async () => (await gateway().exchange(hello)).status === 500)
    const response = await gateway().exchange(hello)
    expect(response.headers.get("retry-after")).toBe("1")
    expect(await errorOf(response)).toMatchObject({ code: "internal_error", detail: { retryable: true } })
    // The call is authenticated from the cache, and refused without the database.
    expect((await gateway().exchange({ ...hello, model: "nope" })).status).toBe(403)
    // The process is alive, and not ready.
    expect((await fetch(`${gateway().baseUrl}/healthz`)).status).toBe(200)
    expect((await fetch(`${gateway().baseUrl}/readyz`)).status).toBe(503)
    psql("alter role gateway connection limit -1")
    await eventually(works)
  })

  const readiness = async () => (await fetch(`${gateway().baseUrl}/readyz`)).status

  it("read-only, as a managed server makes a full one, it is not ready, and calls are refused and retryable; then it heals", async () => {
    expect(await works()).toBe(true)
    psql("alter system set default_transaction_read_only = on")
    psql("select pg_reload_conf()")
    try {
      await eventually(async () => (await readiness()) === 503)
      // A node may still spend the allotments that it has.
      await eventually(async () => (await gateway().exchange(hello)).status === 500)
      const startedAt = Date.now()
      const response = await gateway().exchange(hello)
      expect(Date.now() - startedAt).toBeLessThan(2000)
      expect(response.headers.get("retry-after")).toBe("1")
      expect(await errorOf(response)).toMatchObject({ code: "internal_error", detail: { retryable: true } })
    } finally {
      psql("alter system reset default_transaction_read_only")
      psql("select pg_reload_conf()")
    }
    await eventually(works)
    await eventually(async () => (await readiness()) === 200)
  })

  /** Statements of the gateway that wait for a lock. */
  const waiting = () =>
    Number(psql("select count(*) from pg_stat_activity where usename = 'gateway' and wait_event_type = 'Lock'"))
  /** While a lock is held, more statements wait for it than there are connections. @param lock what takes it */
  const whileTheyWait = async (
    lock: string,
    ask: (signal: AbortSignal) => Promise<Response>,
    use: (leave: () => void) => Promise<void>,
  ) => {
    await eventually(works)
    const locker = spawn("psql", asWeir)
    const left = new AbortController()
    try {
      locker.stdin.write(`begin; ${lock}; select 'locked';\n`)
      await once(locker.stdout, "data")
      const asked = Array.from({ length: 8 }, () => ask(left.signal))
      for (const each of asked) each.catch(() => undefined)
      await eventually(() => waiting() > 0)
      await use(() => left.abort())
      return asked
    } finally {
      locker.kill()
    }
  }
  const admin = (method: string, path: string, body?: object, signal?: AbortSignal) =>
    fetch(`${gateway().baseUrl}/v1/admin/${path}`, {
      method,
      headers: { "x-svc-admin-key": gateway().adminKey, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    })
  const callsGoOn = async () => {
    for (let n = 0; n < 10; n++) {
      const response = await gateway().exchange(hello)
      expect([response.status, response.headers.get("x-svc-warnings")]).toEqual([200, null])
    }
    expect(waiting()).toBeGreaterThan(0)
  }

  it("reports that take long delay no call, and end at the server when nobody waits for them", () =>
    whileTheyWait(
      "lock table usage_rollups in access exclusive mode",
      (signal) => admin("GET", "usage-summary?by=model", undefined, signal),
      async (leave) => {
        await callsGoOn()
        leave()
        await eventually(() => waiting() === 0)
      },
    ))

  it("changes that wait for each other delay no call", async () => {
    await eventually(works)
    const app = String(psql("select id from tenants where kind = 'app' limit 1")).trim()
    const asked = await whileTheyWait(
      "select from audit_head for update",
      () => admin("POST", "keys", { app }),
      callsGoOn,
    )
    for (const response of await Promise.all(asked)) expect([200, 500]).toContain(response.status)
  })

  it.each([false, true])(
    "gone at the settlement (stream: %s): the answer comes with settlement_deferred, and lands once",
    async (stream) => {
      await eventually(works)
      gateway().vendor.script(async (call) => {
        await server?.kill()
        return answer(call)
      })
      const withId = { ...hello, stream, meta: { requestId: randomUUID() } }
      const response = await gateway().exchange(withId)
      const told = response.clone()
      let cost = ""
      if (stream) {
        const events = await readEvents(response)
        expect(events.map(({ event }) => event)).toEqual(["t.open", "t.delta", "t.warn", "t.usage", "t.close"])
        expect(events[2]).toMatchObject({ data: { code: "settlement_deferred" } })
        const close = events.at(-1)
        cost = close?.event === "t.close" ? close.data.usage.cost : ""
      } else {
        expect(response.headers.get("x-svc-warnings")).toBe("settlement_deferred")
        cost = (await replyOf(response)).usage.cost
      }
      expect(cost).toBe("0.000045")
      const requestId = response.headers.get("x-svc-request-id")
      gateway().vendor.script(answer)
      // The journal knows it.
      const meanwhile = await gateway().exchange(withId)
      if (stream) expect(await errorOf(meanwhile)).toMatchObject({ detail: { replayable: false } })
      else expect([meanwhile.status, await meanwhile.text()]).toEqual([200, await told.clone().text()])
      await server?.start()
      await eventually(async () => (await lastUsage(gateway()).catch(() => undefined))?.ref === requestId, 15_000)
      // A server that has just restarted may miss the deadline of a second; that is retryable.
      const reports: Array<unknown> = []
      await eventually(async () => {
        const doctor = await fetch(`${gateway().baseUrl}/v1/admin/doctor`, {
          headers: { "x-svc-admin-key": gateway().adminKey },
        })
        reports.push(await doctor.json())
        return doctor.status === 200
      })
      expect(reports.at(-1)).toMatchObject({ findings: [] })
      const again = await gateway().exchange(withId)
      if (stream) expect(await errorOf(again)).toMatchObject({ detail: { replayable: false } })
      else {
        expect([again.status, again.headers.get("x-svc-warnings")]).toEqual([200, "settlement_deferred"])
        expect(again.headers.get("x-svc-balance")).toBe(told.headers.get("x-svc-balance"))
        expect(await again.text()).toBe(await told.text())
      }
    },
  )
})
