/** Problems at the start: each is reported in one line with its remedy. */
import { existsSync, rmSync, writeFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { eventually } from "../support/gateway.ts"
import { startVault } from "../support/secret-stores.ts"
import { useProcesses } from "../support/use-processes.ts"

describe("weir serve", () => {
  const { dir, serve, weir } = useProcesses()

  it.each<[what: string, env: Record<string, string>, line: RegExp]>([
    ["a wrong variable", { SVC_PORT: "many" }, /^SVC_PORT is invalid: "many" is not a number; weir config prints/],
    ["two of them", { SVC_LOG_LEVEL: "loud", SVC_ENV: "" }, /SVC_(ENV|LOG_LEVEL) is invalid/],
    [
      "a database that is not there",
      { SVC_DATABASE_URL: "postgres://x@127.0.0.1:1/x" },
      /^postgres cannot be reached: .*ECONNREFUSED.*SVC_DATABASE_URL/,
    ],
    [
      "a database URL that is none",
      { SVC_DATABASE_URL: "nonsense" },
      /^SVC_DATABASE_URL: it must begin with postgres:/,
    ],
    [
      "a Redis that is not there",
      { SVC_REDIS_URL: "redis://127.0.0.1:1" },
      /^redis cannot be reached: .*SVC_REDIS_URL/m,
    ],
    ["a catalogue that is not there", { SVC_CATALOGUE: "/nowhere.yaml" }, /^\/nowhere.yaml: the file cannot be read/m],
    [
      "a data directory that is a file",
      { SVC_DATA_DIR: `${process.execPath}/x` },
      /^Cannot create the directory .*ENOTDIR.*SVC_DATA_DIR/,
    ],
    [
      "a data directory where nothing can be created",
      { SVC_DATA_DIR: "/proc/x" },
      /^Cannot create the directory \/proc\/x: .*SVC_DATA_DIR/,
    ],
    [
      "a journal without a folder",
      { SVC_REPLY_AFTER: "journaled", SVC_DATA_DIR: ":memory:" },
      /^SVC_REPLY_AFTER=journaled needs a folder in SVC_DATA_DIR that outlives the process; :memory: does not/m,
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
    60_000,
  )

  it("wrong arguments have an exit code of their own", async () => {
    expect(await weir(["orgs", "--bogus"]).exit).toBe(2)
    expect(await weir(["orgs", "--admin-key", "x", "--url", "http://127.0.0.1:1"]).exit).toBe(1)
    expect(await weir(["config"]).exit).toBe(0)
  })

  it("commands ask the gateway at the port of SVC_PORT, if no address is set", async () => {
    const { exit, output } = weir(["orgs", "--admin-key", "x"], { SVC_PORT: "1" })
    expect(await exit).toBe(1)
    expect(output.text).toContain("The gateway at http://127.0.0.1:1 could not be reached")
  })

  it("outside of development an admin key, a master key and a database are needed, with one worker or several", async () => {
    const all = {
      SVC_ADMIN_KEY_SHA256: "0".repeat(64),
      SVC_MASTER_KEY: "secret",
      SVC_DATABASE_URL: "postgres://x@127.0.0.1:1/x",
    }
    const ways = {
      SVC_ADMIN_KEY_SHA256: "printf %s YOUR_ADMIN_KEY | sha256sum",
      SVC_MASTER_KEY: "the same on all nodes",
      SVC_DATABASE_URL: "postgres://user:password@host/database",
    }
    for (const [without, way] of Object.entries(ways)) {
      const given = Object.fromEntries(Object.entries(all).filter(([name]) => name !== without))
      const { exit, output } = weir(["serve"], { SVC_ENV: "staging", SVC_WORKERS: "2", ...given })
      expect(await exit).toBe(1)
      expect(output.text).toContain(`SVC_ENV=staging needs ${without}, `)
      expect(output.text).toContain(way)
      expect(output.text.match(/needs SVC_/g)).toHaveLength(1)
    }
    const { exit, output } = weir(["serve"], { SVC_ENV: "production" })
    expect(await exit).toBe(1)
    for (const name of Object.keys(ways)) expect(output.text).toContain(`SVC_ENV=production needs ${name}`)
  }, 60_000)

  it("a port in use is reported with its remedy; doctor names its owner", async () => {
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
    // A database in memory leaves no folder.
    expect(existsSync(":memory:")).toBe(false)
    // The second one creates a database, which takes most of the time.
  }, 120_000)

  it("a store of secrets that does not answer is told with the reference: it ends the start of a catalogue file", async () => {
    const vault = await startVault()
    vault.secrets.set("secret/data/weir", '{"openai":"sk-hidden"}')
    const file = `${dir()}/weir.yaml`
    const credential = "vault:secret/data/weir#openai"
    writeFileSync(
      file,
      `version: 1\nvendors:\n  - { id: v, dialect: openai-chat, baseUrl: "https://v.test", credential: "${credential}" }\n`,
    )
    const store = { VAULT_ADDR: vault.url, VAULT_TOKEN: "root-token" }
    const { child, exit: ended } = await serve({ SVC_CATALOGUE: file, ...store })
    child.kill("SIGTERM")
    await ended
    vault.down = { status: 503, body: { errors: ["Vault is sealed"] } }
    const { exit, output } = weir(["serve"], { SVC_CATALOGUE: file, ...store })
    expect(await exit).toBe(1)
    expect(output.text).toContain(`${file}:3: ${credential} cannot be read: Vault answers 503`)
    expect(output.text).not.toMatch(/sk-hidden|root-token|^\s+at /m)
    // Another catalogue can be applied only to a gateway that runs: one that is stored does not end the start.
    rmSync(`${dir()}/ready`, { force: true })
    const stored = await serve(store)
    expect(stored.output.text).toContain("vault:secret/data/weir cannot be read: Vault answers 503")
    expect((await stored.run("doctor")).text).toMatch(/vault:secret\/data\/weir +failed +Vault answers 503/)
    vault.down = undefined
    await eventually(
      () => stored.output.text.includes("Secrets of the catalogue have changed and are in force"),
      60_000,
    )
    expect((await stored.run("doctor")).text).not.toContain("vault:")
    vault.stop()
  }, 120_000)

  it("an unknown variable is reported, with the closest known one", async () => {
    const { exit, output } = weir(["serve"], { SVC_PROT: "8080", SVC_LOG_LEVEL: "loud" })
    await exit
    expect(output.text).toContain("SVC_PROT is not a variable of Weir; did you mean SVC_PORT?")
  })

  it("doctor reports all problems at once, with remedies", async () => {
    const { exit, output } = weir(["doctor"], {
      SVC_PROT: "1",
      SVC_TLS_CERT: "/nowhere",
      SVC_TLS_KEY: "/nowhere",
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
      ["certificate", "failed"],
      ["environment", "failed"],
      ["postgres", "failed"],
      ["redis", "failed"],
      ["gateway", "skipped"],
      ["ledger", "skipped"],
    ] as const) {
      expect(
        lines.some((line) => line.startsWith(check) && line.includes(result)),
        check,
      ).toBe(true)
    }
  }, 60_000)
})
