/** SVC_WORKERS: several processes on one port. Needs PostgreSQL and Redis, which are all that they share. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { sha256 } from "../../../src/secrets.ts"
import {
  answering,
  hello,
  newTestIds,
  parseEvents,
  type ScriptedVendor,
  startScriptedVendor,
  testCatalogue,
} from "../../../src/testing/index.ts"
import { eventually } from "../../support/gateway.ts"
import { useOwnDatabase } from "../../support/own-database.ts"
import { openSocket } from "../../support/socket-client.ts"
import { useProcesses } from "../../support/use-processes.ts"

const { dir, serve, weir } = useProcesses()
const adminKey = "wa_workers"

describe("one gateway alone", () => {
  it.each([
    ["no PostgreSQL", {}, "SVC_DATABASE_URL"],
    ["no Redis", { SVC_DATABASE_URL: "postgres://x@127.0.0.1:1/x" }, "SVC_REDIS_URL"],
  ])("workers with %s are refused in a line", async (_what, env, needed) => {
    const { exit, output } = weir(["serve"], { ...env, SVC_WORKERS: "2" })
    expect(await exit).not.toBe(0)
    expect(output.text).toContain(`SVC_WORKERS above 1 needs ${needed}`)
  })
})

const redisUrl = process.env["SVC_TEST_REDIS_URL"]
const serverUrl = process.env["SVC_TEST_DATABASE_URL"]

describe.skipIf(redisUrl === undefined || serverUrl === undefined)("workers on PostgreSQL and Redis", () => {
  const database = useOwnDatabase(serverUrl)
  let vendor: ScriptedVendor
  let stopVendor: () => void
  beforeAll(async () => {
    const started = Promise.withResolvers<ScriptedVendor>()
    const stopped = Promise.withResolvers<void>()
    stopVendor = stopped.resolve
    const script = answering(
      { words: Array.from({ length: 40 }, (_, at) => `w${at} `), inTokens: 10, outTokens: 40 },
      20,
    )
    void Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(startScriptedVendor(script), (vendor) => {
          started.resolve(vendor)
          return Effect.promise(() => stopped.promise)
        }),
      ),
    )
    vendor = await started.promise
  })
  afterAll(() => stopVendor())

  const ids = newTestIds()
  const start = async (env: Record<string, string> = {}) => {
    const catalogue = join(dir(), "weir.yaml")
    writeFileSync(catalogue, testCatalogue({ vendor: vendor.url, second: vendor.url }, ids))
    const gateway = await serve({
      SVC_ENV: "test",
      SVC_LAME_DUCK_MS: "0",
      SVC_OPEN_DETAILS: "1",
      SVC_WORKERS: "2",
      SVC_DATABASE_URL: Redacted.value(database()),
      SVC_REDIS_URL: redisUrl ?? "",
      SVC_CATALOGUE: catalogue,
      SVC_MASTER_KEY: "of the workers",
      SVC_ADMIN_KEY_SHA256: sha256(adminKey).toString("hex"),
      SVC_LEASE_MS: "3000",
      SVC_CHECKPOINT_MS: "500",
      WEIR_TEST_KEY: "wk_test_secret",
      WEIR_TEST_VENDOR: "secret",
      ...env,
    })
    const exchange = (body: object) =>
      fetch(`${gateway.ready.baseUrl}/t1/exchange`, {
        method: "POST",
        // Connections are distributed to workers: each of these is a new one.
        headers: { "x-svc-key-id": ids.key, "x-svc-key": "wk_test_secret", connection: "close" },
        body: JSON.stringify(body),
      })
    const metrics = async () => (await fetch(`${gateway.ready.baseUrl}/metrics`)).text()
    const run = async (...args: ReadonlyArray<string>) => {
      const { exit, output } = weir(args, { SVC_BASE_URL: gateway.ready.baseUrl, SVC_ADMIN_KEY: adminKey })
      await exit
      return output.text
    }
    return { ...gateway, exchange, metrics, run }
  }
  /** The children of a process, by the fourth field of their stat file (proc(5)). */
  const workersOf = (pid: number): ReadonlyArray<number> =>
    readdirSync("/proc")
      .map(Number)
      .filter((child) => {
        try {
          const stat = readFileSync(`/proc/${child}/stat`, "utf8")
          return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === pid
        } catch {
          return false
        }
      })

  it("share the port, the keys and the balance; /metrics covers all; SIGTERM drains all", async () => {
    const { child, exchange, exit, metrics, ready } = await start()
    expect(workersOf(ready.pid).length).toBe(2)
    const replies = await Promise.all(Array.from({ length: 20 }, () => exchange(hello)))
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    // Every worker reports all twenty.
    for (let asked = 0; asked < 4; asked++) {
      expect(await metrics()).toContain(`weir_exchanges_total{outcome="end",model="main"} 20`)
    }
    const streaming = await exchange({ ...hello, stream: true })
    child.kill("SIGTERM")
    expect(parseEvents(await streaming.text()).at(-1)?.event).toBe("t.close")
    expect(await exit).toBe(0)
  }, 60_000)

  it("a killed worker is replaced; the other's streams go on, and its own are settled", async () => {
    const { exchange, ready, run } = await start()
    const streams = await Promise.all(Array.from({ length: 12 }, () => exchange({ ...hello, stream: true })))
    const [victim = 0] = workersOf(ready.pid)
    await sleep(150)
    process.kill(victim, "SIGKILL")
    const ends = await Promise.all(
      streams.map((stream) =>
        stream.text().then(
          (text) => parseEvents(text).at(-1)?.event ?? "cut",
          () => "cut",
        ),
      ),
    )
    expect(ends.filter((end) => end === "t.close").length).toBeGreaterThan(0)
    expect(ends.filter((end) => end === "cut").length).toBeGreaterThan(0)
    await eventually(() => workersOf(ready.pid).length === 2, 15_000)
    expect((await exchange(hello)).status).toBe(200)
    await eventually(async () => (await run("doctor")).includes("consistent") && (await held(run)) === "0", 30_000)
  }, 90_000)

  it("sockets stay with the worker that accepted them; SIGTERM ends them with 1012 when what runs has ended", async () => {
    const { child, exit, metrics, ready } = await start()
    const headers = { "x-svc-key-id": ids.key, "x-svc-key": "wk_test_secret" }
    const sockets = await Promise.all(
      Array.from({ length: 12 }, () => openSocket(`${ready.baseUrl}/t1/socket`, headers)),
    )
    const ended = (id: string) => (message: { readonly id?: string; readonly event?: string }) =>
      message.id === id && message.event === "t.close"
    for (const socket of sockets) socket.send({ id: "a", exchange: hello })
    await Promise.all(sockets.map((socket) => socket.until(ended("a"))))
    await eventually(async () => (await metrics()).includes('weir_sockets_open{kind="exchanges"} 12'), 5000)
    for (const socket of sockets.slice(6)) socket.send({ id: "b", exchange: hello })
    await Promise.all(
      sockets.slice(6).map((socket) => socket.until(({ id, event }) => id === "b" && event === "t.delta")),
    )
    child.kill("SIGTERM")
    for (const [at, socket] of sockets.entries()) {
      expect(await socket.closed).toMatchObject({ code: 1012 })
      expect(socket.messages.some(ended("b"))).toBe(at >= 6)
    }
    expect(await exit).toBe(0)
  }, 60_000)

  const held = async (run: (...args: ReadonlyArray<string>) => Promise<string>) =>
    /available, (\S+) held/.exec(await run("ledger", ids.org))?.[1]
})
