/** The gateway as a process: its output on a new machine, and SIGTERM. */
import { execFileSync, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { connect as connectHttp2, constants } from "node:http2"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { hello, parseEvents } from "../../src/testing/index.ts"
import { authority, issued } from "../support/certificate.ts"
import { accepts } from "../support/faults/processes.ts"
import { freePort } from "../support/free-port.ts"
import { eventually, replyOf } from "../support/gateway.ts"
import { useCommands } from "../support/use-commands.ts"
import { useProcesses } from "../support/use-processes.ts"

describe("weir serve on a new machine", () => {
  const { dir, serve } = useProcesses({ fresh: true })

  it("prints a line to try for each API, and keeps balances and key over a restart", async () => {
    const first = await serve()
    expect(statSync(join(dir(), "ready")).mode & 0o777).toBe(0o600)
    await eventually(() => first.output.text.includes("generateContent"))
    const lines = first.output.text.split("\n").filter((line) => line.startsWith("  curl "))
    const replies = lines.map((line) =>
      execFileSync("bash", ["-c", line.replace("curl ", "curl -s ")], { encoding: "utf8" }),
    )
    const [streamed = "", ...others] = replies
    const events = parseEvents(streamed).map(({ event }) => event)
    expect(events[0]).toBe("t.open")
    expect(events.slice(-2)).toEqual(["t.usage", "t.close"])
    expect(others).toHaveLength(3)
    for (const other of others) expect(other).toContain("You said: Hello, river")
    // Nothing else is said: no log of a start that went well.
    expect(first.output.text).toMatch(/^(\S+ INFO {2}Creating the embedded database[^\n]*\n)?Weir \S+ is ready at \S+ /)
    const before = (await replyOf(await first.exchange(hello))).usage
    first.child.kill("SIGTERM")
    expect(await first.exit).toBe(0)
    expect(existsSync(join(dir(), "ready"))).toBe(false)

    const second = await serve()
    expect(second.ready.key).toBe(first.ready.key)
    const after = (await replyOf(await second.exchange(hello))).usage
    expect(Number(after.balance) + Number(after.cost)).toBeCloseTo(Number(before.balance), 8)
  }, 120_000)
})

describe("weir serve", () => {
  const { dir, serve } = useProcesses()

  it("drains at SIGTERM: what runs is finished, nothing new is accepted", async () => {
    const { child, exchange, exit, ready, output } = await serve()
    const streaming = await exchange({
      ...hello,
      stream: true,
      thread: [{ role: "user", blocks: [{ t: "text", v: "a ".repeat(40) }] }],
    })
    child.kill("SIGTERM")
    await eventually(
      async () =>
        !(await fetch(`${ready.baseUrl}/healthz`).then(
          () => true,
          () => false,
        )),
    )
    expect(parseEvents(await streaming.text()).at(-1)?.event).toBe("t.close")
    expect(await exit).toBe(0)
    expect(output.text).toMatch(/Stopping; open calls may end first calls=1 seconds=30/)
  }, 60_000)

  it("serves on for a while after SIGTERM while it says that it is not ready, on connections that it closes; then it is gone", async () => {
    const { child, exchange, exit, ready } = await serve({ SVC_LAME_DUCK_MS: "2s" })
    const readiness = async () => (await fetch(`${ready.baseUrl}/readyz`)).status
    expect((await exchange(hello)).headers.get("connection")).toBe("keep-alive")
    child.kill("SIGTERM")
    await eventually(async () => (await readiness()) === 503)
    const served = await exchange(hello)
    expect([served.status, served.headers.get("connection")]).toEqual([200, "close"])
    await eventually(() => readiness().then(Boolean, () => true))
    expect(await exit).toBe(0)
  }, 60_000)

  it("answers every request of HTTP/2 that it accepted before it stops; the others are refused, so that clients send them again", async () => {
    const files = { SVC_TLS_CERT: join(dir(), "cert.pem"), SVC_TLS_KEY: join(dir(), "key.pem") }
    writeFileSync(files.SVC_TLS_CERT, issued.server.cert)
    writeFileSync(files.SVC_TLS_KEY, issued.server.key)
    const { child, exit, ready } = await serve({ ...files, SVC_LAME_DUCK_MS: "300ms" })
    const session = connectHttp2(ready.baseUrl, { ca: [authority] })
    const headers = {
      ":method": "POST",
      ":path": "/t1/exchange",
      "content-type": "application/json",
      "x-svc-key-id": ready.keyId,
      "x-svc-key": ready.key,
    }
    const call = () =>
      new Promise<number>((resolve) => {
        const stream = session.request(headers)
        let status = 0
        stream.once("response", (head) => {
          status = head[":status"] ?? 0
        })
        stream.on("error", () => {}).resume()
        stream.once("close", () => resolve(stream.rstCode === constants.NGHTTP2_NO_ERROR ? status : -stream.rstCode))
        stream.end(JSON.stringify(hello))
      })
    expect(await call()).toBe(200)
    child.kill("SIGTERM")
    const answers = new Set<number>()
    const callOn = async () => {
      while (!session.closed && !session.destroyed) answers.add(await call())
    }
    await Promise.all(Array.from({ length: 20 }, callOn))
    answers.delete(-constants.NGHTTP2_REFUSED_STREAM)
    expect([...answers]).toEqual([200])
    expect(await exit).toBe(0)
  }, 60_000)

  it("npm start ends its gateway when it is ended", async () => {
    const port = await freePort()
    const env = { ...process.env, SVC_PORT: String(port), SVC_DATA_DIR: ":memory:", SVC_DEMO_TRAFFIC: "0" }
    const npm = spawn("npm", ["start"], {
      cwd: new URL("../..", import.meta.url),
      env,
      stdio: "ignore",
      detached: true,
    })
    try {
      await eventually(() => accepts(port), 60_000)
      npm.kill("SIGTERM")
      await eventually(async () => !(await accepts(port)))
    } finally {
      try {
        process.kill(-(npm.pid ?? 0), "SIGKILL")
      } catch {
        // All of its processes have ended.
      }
    }
  }, 90_000)

  it("ends with t.err what does not finish in time, settled", async () => {
    const { child, exchange, exit } = await serve({ SVC_DRAIN_TIMEOUT_MS: "300" })
    const streaming = await exchange({
      ...hello,
      stream: true,
      thread: [{ role: "user", blocks: [{ t: "text", v: "a ".repeat(400) }] }],
    })
    child.kill("SIGTERM")
    const events = parseEvents(await streaming.text())
    expect(events.at(-1)).toMatchObject({
      event: "t.err",
      data: { code: "internal_error", detail: { retryable: true } },
    })
    expect(events.at(-2)).toMatchObject({ event: "t.usage", data: { estimatedReason: "gateway_lost" } })
    await exit
  }, 60_000)

  it("logs that vendors failed, and neither prompts nor queries nor secrets", async () => {
    const secret = `wk_${"s".repeat(43)}`
    const file = join(dir(), "weir.yaml")
    writeFileSync(
      file,
      `
version: 1
vendors: [{ id: away, dialect: openai-chat, baseUrl: "http://127.0.0.1:1" }]
searchProviders:
  - { id: lost, name: Lost, vendor: searxng, baseUrl: "http://127.0.0.1:1", pricePerCall: "0", currency: USD }
models: [{ handle: main, contextWindow: 1000, maxOutput: 100, targets: [{ vendor: away, model: m }] }]
prices: [{ model: main, currency: USD, input: "1", output: "1", from: 2026-01-01 }]
orgs: [{ id: o, name: O, currency: USD, models: [main] }]
apps: [{ id: a, org: o }]
keys: [{ id: k, app: a, secret: "env:CLIENT_KEY", scopes: [runtime] }]
topups: [{ id: t, org: o, amount: "1" }]
`,
    )
    const { child, exit, output, ready } = await serve({
      SVC_LOG_LEVEL: "All",
      SVC_CATALOGUE: file,
      CLIENT_KEY: secret,
    })
    const post = (path: string, body: object) =>
      fetch(`${ready.baseUrl}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-svc-key-id": "k", "x-svc-key": secret },
        body: JSON.stringify(body),
      })
    const asked = { ...hello, thread: [{ role: "user", blocks: [{ t: "text", v: "my-private-prompt" }] }] }
    const statuses = [
      await post("/t1/exchange", asked),
      await post("/t1/exchange", { ...asked, surprise: "my-private-field" }),
      await post("/t1/websearch", { query: "my-private-query" }),
      await post("/t1/websearch", { query: "my-private-query", surprise: "my-private-field" }),
    ].map(({ status }) => status)
    expect(statuses).toEqual([502, 400, 502, 400])
    child.kill("SIGTERM")
    await exit
    expect(output.text.match(/An upstream call failed/g)?.length).toBeGreaterThan(1)
    expect(output.text).not.toContain("my-private")
    expect(output.text).not.toContain(secret)
  }, 60_000)

  it("development makes a master key and keeps it, also where an older version has made the other secrets", async () => {
    const file = join(dir(), "data/development.json")
    mkdirSync(join(dir(), "data"), { recursive: true })
    const older = { key: `wk_${"k".repeat(43)}`, adminKey: `wa_${"a".repeat(43)}` }
    writeFileSync(file, JSON.stringify(older))
    const first = await serve()
    expect(first.ready.adminKey).toBe(older.adminKey)
    const made = JSON.parse(readFileSync(file, "utf8"))
    expect(made).toEqual({ ...older, masterKey: expect.stringMatching(/^wm_/) })
    expect((await first.run("vendors", "set-key", "org_development", "simulated", "--key", "sk-own")).code).toBe(0)
    first.child.kill("SIGTERM")
    await first.exit
    const second = await serve()
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(made)
    // The key that was sealed before the restart is opened: the vendor is called with it.
    expect((await second.exchange(hello)).status).toBe(200)
    const usage = await second.run("usage", "org_development", "--json")
    expect(usage.text).toMatch(/"cost": "0"/)
  }, 60_000)

  it("an admin key of the operator is the only one: none is printed or written", async () => {
    const key = "wa_of_the_operator"
    const { output, ready } = await serve({
      SVC_ADMIN_KEY_SHA256: createHash("sha256").update(key).digest("hex"),
    })
    expect(ready.adminKey).toBeUndefined()
    expect(output.text).not.toContain("Admin key")
    const doctor = (adminKey: string) =>
      fetch(`${ready.baseUrl}/v1/admin/doctor`, { headers: { "x-svc-admin-key": adminKey } })
    expect((await doctor(key)).status).toBe(200)
    const minted = JSON.parse(readFileSync(join(dir(), "data/development.json"), "utf8"))
    expect((await doctor(minted.adminKey)).status).toBe(401)
  }, 60_000)

  it("a gateway that was killed can be started again at once, on the same data directory", async () => {
    const first = await serve()
    first.child.kill("SIGKILL")
    await first.exit
    rmSync(join(dir(), "ready"))
    const second = await serve()
    expect((await second.exchange(hello)).status).toBe(200)
  }, 60_000)
})

describe("the development gateway", () => {
  const { serve } = useCommands()

  it("searches, too", async () => {
    const { search } = await serve()
    const found = await (await search({ query: "a river", max_results: 2 })).json()
    expect(found).toMatchObject({ results: [{ title: "a river, result 1" }, { title: "a river, result 2" }] })
  })
})
