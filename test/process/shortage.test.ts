/** A process that has few files, or little memory: it serves what fits and refuses the rest at once. */
import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { Agent, request } from "undici"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, hello, type ScriptedVendor, startScriptedVendor, testCatalogue } from "../../src/testing/index.ts"
import { accepts } from "../support/faults/processes.ts"
import { freePort } from "../support/free-port.ts"
import { eventually } from "../support/gateway.ts"
import { nodeOptions } from "../support/node-options.ts"
import { packagedCommandUnderLoad } from "../support/use-processes.ts"

const ids = { org: "org_short", app: "app_short", key: "key_short" }
const headers = { "content-type": "application/json", "x-svc-key-id": ids.key, "x-svc-key": "secret" }

const dir = mkdtempSync(join(tmpdir(), "weir-short-"))
const scope = Scope.makeUnsafe()
let vendor: ScriptedVendor
let inVendor = 0
let mostInVendor = 0
/** The vendor answers nobody before somebody was refused: on a slow machine calls would come one after the other. */
const firstRefusal = Promise.withResolvers<void>()
beforeAll(async () => {
  const slow = answering({ words: ["done"], inTokens: 1, outTokens: 1 }, 100)
  const long = answering({
    words: Array.from({ length: 128 }, () => "x".repeat(64 * 1024)),
    inTokens: 1,
    outTokens: 128,
  })
  vendor = await Effect.runPromise(
    Scope.provide(
      startScriptedVendor(async (call) => {
        mostInVendor = Math.max(mostInVendor, ++inVendor)
        await firstRefusal.promise
        await (call.body["stream"] === true ? long : slow)(call)
        inVendor--
      }),
      scope,
    ),
  )
  // Streams that are broken off are billed for what came: the balance must not run out.
  const catalogue = testCatalogue({ vendor: vendor.url, second: vendor.url }, ids)
  writeFileSync(join(dir, "catalogue.yaml"), catalogue.replace(`amount: "1000"`, `amount: "1000000"`))
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(dir, { recursive: true, force: true })
})

/** A gateway process of its own, in memory. */
const start = async (limits: string, more: Readonly<Record<string, string>> = {}) => {
  const port = await freePort()
  const command = [process.execPath, ...nodeOptions, ...packagedCommandUnderLoad, "serve"]
  const child: ChildProcess = spawn("sh", ["-c", `${limits} exec "$0" "$@"`, ...command], {
    env: {
      PATH: process.env["PATH"],
      SVC_LAME_DUCK_MS: "0",
      SVC_PORT: String(port),
      SVC_DATA_DIR: ":memory:",
      SVC_CATALOGUE: join(dir, "catalogue.yaml"),
      SVC_LOG_LEVEL: "Error",
      SVC_OPEN_DETAILS: "1",
      // The vendor is this process, which may be kept waiting: what is tried here is no timeout.
      SVC_UPSTREAM_CONNECT_TIMEOUT_MS: "60000",
      SVC_UPSTREAM_TTFB_TIMEOUT_MS: "60000",
      SVC_UPSTREAM_IDLE_TIMEOUT_MS: "60000",
      SVC_ADMIN_KEY_SHA256: createHash("sha256").update("wa_short").digest("hex"),
      WEIR_TEST_KEY: "secret",
      WEIR_TEST_VENDOR: "secret",
      ...more,
    },
    stdio: "ignore",
  })
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => (await accepts(port)) && (await fetch(`${url}/readyz`)).status === 200, 60_000)
  return { url, isAlive: () => child.exitCode === null && child.signalCode === null, stop: () => child.kill("SIGKILL") }
}

/** Asks until it is served, and waits as long as each refusal says. */
const insist = async (
  { url, isAlive }: Pick<Awaited<ReturnType<typeof start>>, "url" | "isAlive">,
  agent: Agent,
  refusals: Map<string, number>,
): Promise<number> => {
  const body = JSON.stringify({ ...hello })
  while (true) {
    if (!isAlive()) throw new Error("the process is dead")
    try {
      const reply = await request(`${url}/t1/exchange`, { method: "POST", headers, body, dispatcher: agent })
      const text = await reply.body.text()
      const name = `${reply.statusCode} ${reply.statusCode === 200 ? "" : JSON.parse(text).error.code}`
      refusals.set(name, (refusals.get(name) ?? 0) + 1)
      if (reply.statusCode !== 429) return reply.statusCode
      firstRefusal.resolve()
      await sleep(Number(reply.headers["retry-after"]) * 300)
    } catch {
      // The connection was refused: there was no file for it.
      refusals.set("refused", (refusals.get("refused") ?? 0) + 1)
      firstRefusal.resolve()
      await sleep(200 + Math.random() * 300)
    }
  }
}

/** Reads a page, and comes again where its connection was refused. */
const insistOn = async (url: string): Promise<string> => {
  let text: string | undefined
  await eventually(async () => {
    const reply = await fetch(url).catch(() => undefined)
    text = reply?.status === 200 ? await reply.text() : undefined
    return text !== undefined
  })
  return text ?? ""
}

describe.skipIf(process.platform !== "linux")("few files", () => {
  it("200 files, 300 clients at once: what fits is served, the rest refused, and all are served in the end", async () => {
    const gateway = await start("ulimit -n 200 &&")
    const agent = new Agent({ connections: 300, pipelining: 1 })
    const replies = new Map<string, number>()
    const statuses = await Promise.all(Array.from({ length: 300 }, () => insist(gateway, agent, replies)))
    // Where connections are accepted slowly, those that are refused may spread the calls so that no exchange is refused.
    const { refused = 0, "429 rate_limited": limited = 0, ...others } = Object.fromEntries(replies)
    expect(Object.keys(others)).toEqual(["200 "])
    expect(refused + limited).toBeGreaterThan(0)
    expect(statuses).toHaveLength(300)
    expect(mostInVendor).toBeGreaterThan(10)
    expect(mostInVendor).toBeLessThan(80)
    // The clients keep their connections: another one may find no file at first.
    const metrics = await insistOn(`${gateway.url}/metrics`)
    expect(metrics).toMatch(/weir_exchanges_max \d+/)
    expect(metrics).not.toContain("weir_target_cooldowns_total{")
    expect(await insistOn(`${gateway.url}/readyz`)).toContain("ready")
    await agent.destroy()
    gateway.stop()
  }, 120_000)
})

describe("little heap", () => {
  it("128 MiB, 60 clients that do not read, each with a buffer of 4 MiB: the process lives, and serves those who read", async () => {
    firstRefusal.resolve()
    const gateway = await start("", {
      NODE_OPTIONS: "--max-old-space-size=128",
      SVC_STREAM_STALL_MS: "2000",
      SVC_STREAM_BUFFER_BYTES: String(4 * 1024 ** 2),
    })
    const { port, hostname } = new URL(gateway.url)
    const body = JSON.stringify({ ...hello, stream: true })
    const lines = Object.entries({ ...headers, host: hostname, "content-length": String(body.length) })
    const text = `POST /t1/exchange HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`
    const sockets = Array.from({ length: 60 }, () => {
      const socket = connect(Number(port), hostname, () => socket.write(text))
      socket.pause().on("error", () => {})
      return socket
    })
    const agent = new Agent({ connections: 10, pipelining: 1 })
    const replies = new Map<string, number>()
    const statuses = await Promise.all(Array.from({ length: 10 }, () => insist(gateway, agent, replies)))
    expect(statuses).toEqual(statuses.map(() => 200))
    await eventually(async () => {
      const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
      return /weir_exchanges_open 0/.test(metrics)
    }, 30_000)
    expect(gateway.isAlive()).toBe(true)
    for (const socket of sockets) socket.destroy()
    expect(await insist(gateway, agent, replies)).toBe(200)
    await agent.destroy()
    gateway.stop()
  }, 120_000)
})
