/** The gateway as a process: what a person on a fresh machine sees, and what SIGTERM does. */
import { spawn } from "node:child_process"
import { existsSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { hello, parseEvents } from "../../src/testing/index.ts"
import { eventually, replyOf } from "../conformance/gateway.ts"
import { useProcesses } from "./process.ts"

const { dir, serve, weir } = useProcesses()

describe("weir serve", () => {
  it("prints a line that streams, and keeps balances and key over a restart", async () => {
    const first = await serve()
    expect(statSync(join(dir(), "ready")).mode & 0o777).toBe(0o600)
    await eventually(() => first.output.text.includes("curl -N"))
    const line = first.output.text.split("\n").find((text) => text.includes("curl -N")) ?? ""
    const shell = spawn("bash", ["-c", line.replace("curl -N", "curl -sN")])
    let text = ""
    for await (const chunk of shell.stdout) text += chunk
    const events = parseEvents(text).map(({ event }) => event)
    expect(events[0]).toBe("t.open")
    expect(events.slice(-2)).toEqual(["t.usage", "t.close"])
    const before = (await replyOf(await first.exchange(hello))).usage
    first.child.kill("SIGTERM")
    expect(await first.exit).toBe(0)
    expect(existsSync(join(dir(), "ready"))).toBe(false)

    const second = await serve()
    expect(second.ready.key).toBe(first.ready.key)
    const after = (await replyOf(await second.exchange(hello))).usage
    expect(Number(after.balance) + Number(after.cost)).toBeCloseTo(Number(before.balance), 8)
  }, 60_000)

  it("drains at SIGTERM: what runs is finished, nothing new is accepted", async () => {
    const { child, exchange, exit, ready } = await serve()
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
  }, 60_000)

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

  it("the development gateway searches, too", async () => {
    const { search } = await serve()
    const found = await (await search({ query: "a river", max_results: 2 })).json()
    expect(found).toMatchObject({ results: [{ title: "a river, result 1" }, { title: "a river, result 2" }] })
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
    expect(output.text).toContain("An upstream call failed")
    expect(output.text).toContain("A search provider failed")
    expect(output.text).not.toContain("my-private")
    expect(output.text).not.toContain(secret)
  }, 60_000)

  it.each<[what: string, env: Record<string, string>, line: RegExp]>([
    ["a wrong variable", { SVC_PORT: "many" }, /^SVC_PORT is wrong: Expected a finite number; src\/config.ts/],
    ["two of them", { SVC_LOG_LEVEL: "loud", SVC_ENV: "" }, /SVC_(ENV|LOG_LEVEL) is wrong/],
    [
      "a database that is not there",
      { SVC_DATABASE_URL: "postgres://x@127.0.0.1:1/x" },
      /^postgres cannot be reached: .*ECONNREFUSED.*SVC_DATABASE_URL/,
    ],
    [
      "a database URL that is none",
      { SVC_DATABASE_URL: "nonsense" },
      /^postgres cannot be reached: Invalid URL; .*SVC_DATABASE_URL/,
    ],
    [
      "a Redis that is not there",
      { SVC_REDIS_URL: "redis://127.0.0.1:1" },
      /^redis cannot be reached: .*SVC_REDIS_URL/m,
    ],
    [
      "a catalogue that is not there",
      { SVC_CATALOGUE: "/nowhere.yaml" },
      /^\/nowhere.yaml:0: the file cannot be read/m,
    ],
    [
      "a data folder that is a file",
      { SVC_DATA_DIR: `${process.execPath}/x` },
      /^The data folder cannot be used: .*SVC_DATA_DIR/,
    ],
    ["an address that is not ours", { SVC_HOST: "192.0.2.1" }, /^Weir cannot listen: .*SVC_HOST/m],
  ])(
    "%s is told in a line with its remedy, and the exit code is not zero",
    async (_what, env, line) => {
      const { exit, output } = weir(["serve"], env)
      expect(await exit).toBe(1)
      expect(output.text).toMatch(line)
      expect(output.text).not.toMatch(/^\s+at /m)
    },
    30_000,
  )

  it("a port that is taken is told with its remedy; doctor knows who has it", async () => {
    const { ready } = await serve()
    const { port } = new URL(ready.baseUrl)
    const second = weir(["serve"], { SVC_PORT: port, SVC_DATA_DIR: ":memory:", SVC_READY_FILE: `${dir()}/second` })
    expect(await second.exit).toBe(1)
    expect(second.output.text).toMatch(/^Weir cannot listen: .*EADDRINUSE.*SVC_PORT/m)
    const doctor = weir(["doctor"], { SVC_PORT: port, SVC_BASE_URL: ready.baseUrl })
    expect(await doctor.exit).toBe(0)
    expect(doctor.output.text).toContain("Weir listens there already")
    const stranger = weir(["doctor", "--json"], { SVC_PORT: port, SVC_BASE_URL: "http://127.0.0.1:9" })
    expect(await stranger.exit).toBe(1)
    expect(stranger.output.text).toContain("EADDRINUSE")
    // What is kept in memory leaves no folder behind.
    expect(existsSync(":memory:")).toBe(false)
  }, 60_000)

  it("a variable that nobody reads is named, with the one that was meant", async () => {
    const { exit, output } = weir(["serve"], { SVC_PROT: "8080", SVC_LOG_LEVEL: "loud" })
    await exit
    expect(output.text).toContain("SVC_PROT is no variable of Weir; did you mean SVC_PORT?")
  })

  it("doctor finds all of it at once, and says what to do", async () => {
    const { exit, output } = weir(["doctor"], {
      SVC_PROT: "1",
      SVC_ENV: "production",
      SVC_DATABASE_URL: "postgres://x@127.0.0.1:1/x",
      SVC_REDIS_URL: "redis://127.0.0.1:1",
      SVC_CATALOGUE: "/nowhere.yaml",
      SVC_DATA_DIR: `${process.execPath}/x`,
    })
    expect(await exit).toBe(1)
    const lines = output.text.split("\n")
    for (const [check, result] of [
      ["variables", "warning"],
      ["catalogue", "failed"],
      ["master key", "failed"],
      ["postgres", "failed"],
      ["redis", "failed"],
      ["gateway", "skipped"],
      ["books", "skipped"],
    ] as const) {
      expect(
        lines.some((line) => line.startsWith(check) && line.includes(result)),
        check,
      ).toBe(true)
    }
  }, 60_000)
})

describe("SVC_CATALOGUE and weir apply", () => {
  const catalogue = (name: string) => `version: 1\norgs:\n  - { id: o, name: ${name}, currency: USD, models: [] }\n`

  it("a file is applied at start and whenever it changes; a wrong one is refused by line", async () => {
    const file = join(dir(), "weir.yaml")
    writeFileSync(file, catalogue("One"))
    const { output, ready } = await serve({ SVC_CATALOGUE: file })
    expect(ready.key).toBeUndefined()
    writeFileSync(file, `${catalogue("Two")}surprise: 1\n`)
    await eventually(() => output.text.includes(`${file}:4: surprise`))
    const env = { SVC_BASE_URL: ready.baseUrl, SVC_ADMIN_KEY: ready.adminKey }
    const dry = weir(["apply", "--dry-run", file], env)
    expect(await dry.exit).toBe(1)
    expect(dry.output.text).toContain(`${file}:4: surprise`)
    writeFileSync(file, catalogue("Three"))
    await eventually(async () => {
      const again = weir(["apply", "--dry-run", file], env)
      await again.exit
      return again.output.text.includes("Nothing changes")
    }, 15_000)
    const wrongKey = weir(["apply", file], { ...env, SVC_ADMIN_KEY: "wrong" })
    expect(await wrongKey.exit).toBe(1)
    expect(wrongKey.output.text).toContain("admin_key_invalid")
  }, 60_000)

  it("weir topup, ledger, audit and doctor speak to a running gateway", async () => {
    const { exchange, run } = await serve()
    await exchange(hello)
    const doctor = await run("doctor")
    expect(doctor.code, doctor.text).toBe(0)
    expect(doctor.text).toMatch(/^books +ok +sound/m)
    expect(doctor.text).toContain("Nothing is in the way")
    expect((await run("audit", "verify")).text).toMatch(
      /^0 entries are sound; the newest one's hash is [0-9a-f]{64}\n$/,
    )
    expect((await run("topup", "org_development", "12.5", "--id", "one")).text).toMatch(
      /^Credited; org_development has 112\.\d+ USD/,
    )
    expect((await run("topup", "org_development", "12.5", "--id", "one")).text).toContain("credited before")
    const tried = await run("vendors", "test", "simulated")
    expect(tried.code).toBe(0)
    expect(tried.text).toMatch(/^simulated \(openai-chat, \S+\): works after \d+ ms/)
    expect(tried.text).toMatch(/usage\s+\d+ in, \d+ out/)
    expect(await run("vendors", "test", "nobody")).toMatchObject({
      code: 1,
      text: expect.stringContaining("not_found"),
    })
    expect(await run("vendors", "set-key", "org_development", "simulated", "--key", "k")).toMatchObject({
      code: 1,
      text: expect.stringContaining("SVC_MASTER_KEY"),
    })
    expect((await run("vendors", "keys", "org_development")).text).toContain("no upstream keys")
    expect(await run("topup", "org_unheard", "1", "--id", "two")).toMatchObject({ code: 1 })
    const { text } = await run("ledger", "org_development")
    expect(text).toMatch(/org_development: 112\.\d+ USD available, 0 held/)
    expect(text).toMatch(/settle\s+revenue/)
  }, 60_000)

  it("a wrong file at start is told by line, and nothing runs", async () => {
    const file = join(dir(), "weir.yaml")
    writeFileSync(file, "version: 2\n")
    const { exit, output } = weir(["serve"], { SVC_CATALOGUE: file })
    expect(await exit).not.toBe(0)
    expect(output.text).toContain(`${file}:1: version`)
  }, 30_000)
})
