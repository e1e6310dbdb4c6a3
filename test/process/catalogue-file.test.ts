import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { CatalogueText } from "../../src/protocol/control/activity.ts"
import { hello } from "../../src/testing/index.ts"
import { freePort } from "../support/free-port.ts"
import { eventually } from "../support/gateway.ts"
import { useCommands } from "../support/use-commands.ts"
import { useProcesses } from "../support/use-processes.ts"

const replyOf = async (response: Response) => Schema.decodeUnknownSync(CatalogueText)(await response.json())

describe("SVC_CATALOGUE and weir apply", () => {
  const { dir, serve, run } = useCommands()
  const catalogue = (name: string) => `version: 1\norgs:\n  - { id: o, name: ${name}, currency: USD, models: [] }\n`

  it("a file is applied at start and whenever it changes; a wrong one is refused by line", async () => {
    const file = join(dir(), "weir.yaml")
    writeFileSync(file, catalogue("One"))
    const { output, ready } = await serve({ SVC_CATALOGUE: file })
    expect(ready.key).toBeUndefined()
    writeFileSync(file, `${catalogue("Two")}surprise: 1\n`)
    await eventually(() => output.text.includes(`${file}:4: surprise`))
    const env = { SVC_BASE_URL: ready.baseUrl, SVC_ADMIN_KEY: ready.adminKey }
    const dry = await run(["apply", "--dry-run", file], env)
    expect(dry).toMatchObject({ code: 1, text: expect.stringContaining(`${file}:4: surprise`) })
    writeFileSync(file, catalogue("Three"))
    await eventually(async () => {
      const again = await run(["apply", "--dry-run", file], env)
      return again.text.includes("Nothing changes")
    }, 15_000)
    const wrongKey = await run(["apply", file], { ...env, SVC_ADMIN_KEY: "wrong" })
    expect(wrongKey).toMatchObject({ code: 1, text: expect.stringContaining("admin_key_invalid") })
  }, 60_000)

  it("in development, the start makes and prints the secret of a new key, once", async () => {
    const file = join(dir(), "weir.yaml")
    const key = "apps: [{ id: a, org: o }]\nkeys: [{ id: k, app: a, scopes: [runtime] }]\n"
    writeFileSync(file, `${catalogue("One")}${key}`)
    const first = await serve({ SVC_CATALOGUE: file })
    await eventually(() => first.output.text.includes("New keys, printed once"))
    const [, secret = ""] = /^ {2}k~(wk_\S+)$/m.exec(first.output.text) ?? []
    const headers = { "x-svc-key-id": "k", "x-svc-key": secret }
    expect((await fetch(`${first.ready.baseUrl}/t1/config`, { headers })).status).toBe(200)
  }, 60_000)

  it("an organisation that leaves a file stays, with what it has, until --prune or SVC_CATALOGUE_PRUNE=1", async () => {
    const file = join(dir(), "weir.yaml")
    const two = `${catalogue("One")}  - { id: p, name: P, currency: USD, models: [] }\ntopups: [{ id: t, org: p, amount: "7" }]\n`
    writeFileSync(file, two)
    const served = await serve({ SVC_CATALOGUE: file })
    const env = { SVC_BASE_URL: served.ready.baseUrl, SVC_ADMIN_KEY: served.ready.adminKey }
    writeFileSync(file, catalogue("One"))
    await eventually(() => served.output.text.includes("SVC_CATALOGUE_PRUNE=1 removes them): orgs/p"), 15_000)
    for (const flags of [["--dry-run"], []]) {
      const { text } = await run(["apply", file, ...flags], env)
      expect(text).toContain("No longer in the file; these stay as they are, and --prune removes them:")
      expect(text).toMatch(/^ {4}orgs\/p \(7 USD available, 0 held\)$/m)
      expect((await run(["orgs"], env)).text).toMatch(/^p /m)
    }
    expect((await run(["apply", file, "--prune", "--dry-run"], env)).text).toMatch(/^- orgs\/p$/m)
    expect((await run(["apply", file, "--prune"], env)).text).toContain("No longer in the file, removed:")
    expect((await run(["orgs"], env)).text).not.toMatch(/^p /m)
    writeFileSync(file, two)
    await eventually(async () => /^p /m.test((await run(["orgs"], env)).text), 15_000)
  }, 60_000)

  it("SVC_CATALOGUE_PRUNE=1 removes what leaves the file", async () => {
    const file = join(dir(), "weir.yaml")
    writeFileSync(file, `${catalogue("One")}  - { id: p, name: P, currency: USD, models: [] }\n`)
    const { ready } = await serve({ SVC_CATALOGUE: file, SVC_CATALOGUE_PRUNE: "1" })
    const env = { SVC_BASE_URL: ready.baseUrl, SVC_ADMIN_KEY: ready.adminKey }
    expect((await run(["orgs"], env)).text).toMatch(/^p /m)
    writeFileSync(file, catalogue("One"))
    await eventually(async () => !/^p /m.test((await run(["orgs"], env)).text), 15_000)
  }, 60_000)

  it("what the gateway brought along for development ends with the first catalogue that is applied", async () => {
    const file = join(dir(), "weir.yaml")
    writeFileSync(file, catalogue("One"))
    const { run } = await serve()
    const { code, text } = await run("apply", file)
    expect([code, text]).toEqual([0, expect.stringMatching(/^- orgs\/org_development$/m)])
    expect(text).not.toContain("stay as they are")
    expect((await run("orgs")).text).not.toContain("org_development")
  }, 60_000)

  it("revisions are listed, compared, and brought back as new ones", async () => {
    const file = join(dir(), "weir.yaml")
    const { run } = await serve()
    for (const name of ["One", "Two"]) {
      writeFileSync(file, catalogue(name))
      expect((await run("apply", file)).code).toBe(0)
    }
    const newestOf = async () => Number(/\n *(\d+) /.exec((await run("revisions", "list")).text)?.[1])
    const newest = await newestOf()
    const one = String(newest - 1)
    expect((await run("revisions", "diff", one)).text).toBe(
      `From revision ${newest} to revision ${one}:\n~ orgs/o\n    name: "Two" → "One"\n`,
    )
    expect((await run("revisions", "diff", String(newest), "--from", one)).text).toContain('name: "One" → "Two"')
    expect((await run("revisions", "diff", one, "--from", one)).text).toContain("Nothing changes")
    for (const [revision, ...flags] of [["999"], [one, "--from", "999"], ["x"]] as const) {
      const refused = await run("revisions", "diff", revision, ...flags)
      expect(refused).toMatchObject({ code: 1, text: expect.stringContaining("not_found") })
    }
    expect((await run("revisions", "restore", one, "--dry-run")).text).toContain("Dry run: nothing was applied")
    expect(await newestOf()).toBe(newest)
    expect((await run("revisions", "restore", one)).text).toContain(`Revision ${newest + 1} is in force`)
    expect((await run("orgs")).text).toMatch(/^o +One/m)
  }, 60_000)

  it("weir topup, ledger, audit and doctor speak to a running gateway", async () => {
    const { exchange, run } = await serve()
    await exchange(hello)
    const doctor = await run("doctor")
    expect(doctor.code, doctor.text).toBe(0)
    expect(doctor.text).toMatch(/^ledger +ok +consistent/m)
    expect(doctor.text).toContain("All checks passed")
    // The catalogue, and its top-up.
    expect((await run("audit", "verify")).text).toMatch(
      /^2 entries are valid; the newest one's hash is [0-9a-f]{64}\n$/,
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
    expect((await run("vendors", "keys", "org_development")).text).toContain("no upstream keys")
    expect(await run("topup", "org_unheard", "1", "--id", "two")).toMatchObject({ code: 1 })
    const { text } = await run("ledger", "org_development")
    expect(text).toMatch(/org_development: 112\.\d+ USD available, 0 held/)
    expect(text).toMatch(/charge\s+revenue/)
  }, 60_000)
})

describe("a gateway as a process", () => {
  const { dir, serve, weir } = useProcesses()

  it("a gateway is not ready before its file is applied for the first time", async () => {
    const file = join(dir(), "weir.yaml")
    const orgs = Array.from({ length: 2000 }, (_, at) => `  - { id: o${at}, name: N, currency: USD, models: [] }`)
    writeFileSync(file, `version: 1\norgs:\n${orgs.join("\n")}\n`)
    const port = await freePort()
    weir(["serve"], { SVC_CATALOGUE: file, SVC_PORT: String(port) })
    const seen: Array<string> = []
    await eventually(async () => {
      const reply = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
      if (reply !== undefined) seen.push(`${reply.status} ${JSON.stringify(await reply.json())}`)
      return reply?.status === 200
    }, 60_000)
    expect(seen[0]).toContain(`503 {"status":"not ready","postgres":true,"gate":true,"catalogue":false`)
    expect(seen.at(-1)).toContain(`200 {"status":"ready","postgres":true,"gate":true,"catalogue":true`)
  }, 90_000)

  it("the command as it is packaged reads a large text in its own thread, and lists what the simulated vendor offers", async () => {
    const { ready } = await serve()
    const models = Array.from({ length: 1000 }, (_, at) => `  - { handle: model-${at}, mode: direct }`)
    const headers = { "content-type": "application/json", "x-svc-admin-key": ready.adminKey }
    const post = (path: string, body: object) =>
      fetch(`${ready.baseUrl}/v1/admin/${path}`, { method: "POST", headers, body: JSON.stringify(body) })
    const text = ["version: 1", "models:", ...models].join("\n")
    const draft = await post("catalogue/draft", { text, add: { plans: [{ id: "new" }] } })
    expect(await draft.json()).toMatchObject({ added: ["- { id: new }"], vendors: [] })

    const inForce = await fetch(`${ready.baseUrl}/v1/admin/catalogue`, { headers })
    const offers = await post("vendors/simulated/offers", { text: (await replyOf(inForce)).text })
    expect(await offers.json()).toMatchObject({ listed: 2, problem: null, offers: [{ handle: "simulated-2" }] })
  })

  it("what was applied last is in force after a restart, and calls the simulated vendor; a watched file is the truth", async () => {
    const start = async (env: Record<string, string> = {}) => {
      const started = await serve(env)
      const headers = { "content-type": "application/json", "x-svc-admin-key": started.ready.adminKey ?? "" }
      const inForce = async () => replyOf(await fetch(`${started.ready.baseUrl}/v1/admin/catalogue`, { headers }))
      const apply = (text: string) =>
        fetch(`${started.ready.baseUrl}/v1/admin/catalogue`, {
          method: "POST",
          headers,
          body: JSON.stringify({ text }),
        })
      const stop = async () => {
        started.child.kill("SIGTERM")
        await started.exit
      }
      return { ...started, inForce, apply, stop }
    }
    const first = await start()
    const { text = "" } = await first.inForce()
    const own = text.replace("{ id: development, concurrency: 20,", "{ id: development, concurrency: 7,")
    expect(own).not.toBe(text)
    expect((await first.apply(own)).status).toBe(200)
    await first.stop()

    const second = await start()
    const [before, after] = [await second.inForce(), own]
    expect(before.text?.replaceAll(/127\.0\.0\.1:\d+/g, "")).toBe(after.replaceAll(/127\.0\.0\.1:\d+/g, ""))
    expect(before.watchedFile).toBeUndefined()
    expect((await second.exchange(hello)).status).toBe(200)
    await second.stop()

    const file = join(dir(), "weir.yaml")
    writeFileSync(file, `version: 1\norgs:\n  - { id: o, name: O, currency: USD, models: [] }\n`)
    const third = await start({ SVC_CATALOGUE: file, SVC_CATALOGUE_PRUNE: "1" })
    expect((await third.inForce()).watchedFile).toEqual({ path: file, isInForce: true })
    const other = "version: 1\norgs:\n  - { id: o, name: Other, currency: USD, models: [] }\n"
    const applied = await third.apply(other)
    expect(await applied.json()).toMatchObject({ warnings: [expect.stringContaining(`${file} is watched`)] })
    expect(await third.inForce()).toMatchObject({ text: other, watchedFile: { path: file, isInForce: false } })
    await third.stop()

    const fourth = await start({ SVC_CATALOGUE: file })
    expect(await fourth.inForce()).toMatchObject({ watchedFile: { isInForce: true } })
    await fourth.stop()

    const fifth = await start()
    expect((await fifth.inForce()).text).toContain("name: O,")
    expect(fifth.ready.key).toBeUndefined()
  }, 120_000)

  it("a wrong file at start is reported by line, and nothing runs", async () => {
    const file = join(dir(), "weir.yaml")
    writeFileSync(file, "version: 2\n")
    const { exit, output } = weir(["serve"], { SVC_CATALOGUE: file })
    expect(await exit).not.toBe(0)
    expect(output.text).toContain(`${file}:1: version`)
  }, 60_000)
})
