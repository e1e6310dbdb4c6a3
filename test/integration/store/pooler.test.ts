/**
 * PostgreSQL behind a pooler that gives a connection for one transaction at a time. Needs pgbouncer and a PostgreSQL.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parseAmount } from "../../../src/money/amount.ts"
import { hello } from "../../../src/testing/index.ts"
import { accepts } from "../../support/faults/processes.ts"
import { freePort } from "../../support/free-port.ts"
import { balanceOf, eventually, holdsOf, replyOf, useGateway } from "../../support/gateway.ts"
import { useOwnDatabase } from "../../support/own-database.ts"

const hasPooler = spawnSync("pgbouncer", ["--version"]).status === 0
const serverUrl = process.env["SVC_TEST_DATABASE_URL"]

describe.skipIf(!hasPooler || serverUrl === undefined)("PostgreSQL behind a transaction pooler", () => {
  const database = useOwnDatabase(serverUrl)
  let dir = ""
  let pooler: ChildProcess | undefined
  let url = ""
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "weir-pooler-"))
    const server = new URL(Redacted.value(database()))
    const port = await freePort()
    const name = server.pathname.slice(1)
    const settings = [
      "[databases]",
      `${name} = host=${server.hostname} port=${server.port} dbname=${name} user=${server.username}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = any",
      "pool_mode = transaction",
      // Fewer than Weir asks for: transactions take turns.
      "default_pool_size = 3",
      "ignore_startup_parameters = extra_float_digits,options,client_encoding",
    ]
    writeFileSync(join(dir, "pgbouncer.ini"), `${settings.join("\n")}\n`)
    chmodSync(dir, 0o755)
    const asNobody = process.getuid?.() === 0 ? ["--user", "nobody"] : []
    pooler = spawn("pgbouncer", [...asNobody, join(dir, "pgbouncer.ini")], { stdio: "ignore" })
    await eventually(() => accepts(port))
    url = `postgres://${server.username}@127.0.0.1:${port}/${name}`
  })
  afterAll(() => {
    pooler?.kill("SIGKILL")
    rmSync(dir, { recursive: true, force: true })
  })

  const gateway = useGateway(() => ({ config: { databaseUrl: Redacted.make(url), databaseConnections: 10 } }))

  it("migrates, applies a catalogue, holds and settles, many at once, to the last token", async () => {
    const before = await balanceOf(gateway())
    const replies = await Promise.all(Array.from({ length: 100 }, () => gateway().exchange(hello)))
    const [first] = await Promise.all(replies.map(replyOf))
    const cost = parseAmount(first?.usage.cost ?? "") ?? 0n
    const holds = await holdsOf(gateway())
    expect(new Set(holds.map(({ state }) => state))).toEqual(new Set(["settled"]))
    expect(holds.length).toBe(100)
    expect(await balanceOf(gateway())).toBe(before - 100n * cost)
  })

  it("doctor finds the ledger consistent", async () => {
    const reply = await gateway().call("GET", "/v1/admin/doctor", undefined, { "x-svc-admin-key": gateway().adminKey })
    expect(await reply.json()).toMatchObject({ findings: [] })
  })
})
