/** PostgreSQL with TLS, as libpq's parameters of the URL ask for it, and passwords that are rotated. Needs a server of its own. */
import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Effect, Exit, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { WeirConfig } from "../../../src/config.ts"
import { parseDatabaseUrl } from "../../../src/protocol/values/database-url.ts"
import { connectionsOf } from "../../../src/store/connections.ts"
import { authority, issued } from "../../support/certificate.ts"
import { hasServers, postgres, type Service } from "../../support/faults/processes.ts"
import { freePort } from "../../support/free-port.ts"
import { eventually } from "../../support/gateway.ts"
import { withVariables } from "../../support/variables.ts"

describe.skipIf(!hasServers())("PostgreSQL with TLS", async () => {
  const dir = mkdtempSync(join(tmpdir(), "weir-database-tls-"))
  chmodSync(dir, 0o755)
  const port = await freePort()
  let server: Service | undefined
  const file = (name: string, text: string) => {
    const path = join(dir, name)
    writeFileSync(path, text, { mode: 0o600 })
    if (process.getuid?.() === 0) execFileSync("chown", ["postgres", path])
    return path
  }
  const ca = file("ca.pem", authority)
  const cert = file("client.pem", issued.client.cert)
  const key = file("client.key", issued.client.key)
  const rules = [
    "host all weir 127.0.0.1/32 trust",
    "hostssl all certified 127.0.0.1/32 scram-sha-256 clientcert=verify-ca",
    "hostssl all gateway 127.0.0.1/32 scram-sha-256",
  ]
  const psql = (sql: string) =>
    execFileSync("psql", ["-h", "127.0.0.1", "-p", String(port), "-U", "weir", "-qAt", "postgres", "-c", sql])
  beforeAll(async () => {
    server = postgres(join(dir, "pg"), port, [
      "listen_addresses=127.0.0.1,127.0.0.3",
      "ssl=on",
      `ssl_cert_file=${file("server.pem", issued.server.cert)}`,
      `ssl_key_file=${file("server.key", issued.server.key)}`,
      `ssl_ca_file=${ca}`,
      `hba_file=${file("hba.conf", `${rules.join("\n")}\n`)}`,
    ])
    await server.start()
    psql("create role gateway login password 'first'")
    psql("create role certified login password 'first'")
  })
  afterAll(async () => {
    await server?.kill()
    rmSync(dir, { recursive: true, force: true })
  })

  const urlOf = (user: string, query: string, host = "127.0.0.1", password = "first") =>
    `postgres://${user}:${password}@${host}:${port}/postgres?${query}`
  /** A client as calls have it. */
  const clientOf = (url: string) => connectionsOf(1, 2000).forCalls(Redacted.make(url))
  const isEncrypted = Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`,
  )
  const connect = async (url: string) => {
    const exit = await Effect.runPromiseExit(Effect.scoped(Effect.provide(isEncrypted, clientOf(url))))
    return Exit.isSuccess(exit) ? exit.value[0]?.ssl : String(exit.cause)
  }

  it.each([
    ["verify-full with the authority", "gateway", `sslmode=verify-full&sslrootcert=${ca}`, /^true$/],
    ["verify-ca", "gateway", `sslmode=verify-ca&sslrootcert=${ca}`, /^true$/],
    ["require with the authority, which is verify-ca", "gateway", `sslmode=require&sslrootcert=${ca}`, /^true$/],
    [
      "a client certificate",
      "certified",
      `sslmode=verify-full&sslrootcert=${ca}&sslcert=${cert}&sslkey=${key}`,
      /^true$/,
    ],
    [
      "verify-full with the machine's authorities",
      "gateway",
      "sslmode=verify-full",
      /unable to verify|self-signed|local issuer/,
    ],
    [
      "no client certificate where one is needed",
      "certified",
      `sslmode=verify-full&sslrootcert=${ca}`,
      /client certificate/,
    ],
    ["no TLS where it is needed", "gateway", "sslmode=disable", /no encryption|pg_hba/],
  ])("%s", async (_, user, query, expected) => {
    const outcome = await connect(urlOf(user, query))
    expect(String(outcome)).toMatch(expected)
  })

  it("verify-full checks the name, verify-ca does not", async () => {
    // The certificate is of localhost, 127.0.0.1 and 127.0.0.2.
    const outcomeOf = async (mode: string) =>
      String(await connect(urlOf("gateway", `sslmode=${mode}&sslrootcert=${ca}`, "127.0.0.3")))
    expect(await outcomeOf("verify-full")).toMatch(/altnames|does not match/)
    expect(await outcomeOf("verify-ca")).toBe("true")
  })

  it("a password that is rotated is read from its file for each new connection; nothing restarts", async () => {
    const path = join(dir, "url")
    const query = `sslmode=verify-full&sslrootcert=${ca}`
    writeFileSync(path, urlOf("gateway", query))
    const restore = withVariables({ SVC_DATABASE_URL_FILE: path })
    try {
      const program = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const works = () => Effect.runPromise(Effect.isSuccess(sql`select 1`))
        expect(yield* Effect.promise(works)).toBe(true)
        psql("alter role gateway password 'second'")
        writeFileSync(path, urlOf("gateway", query, "127.0.0.1", "second"))
        psql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'gateway'")
        yield* Effect.promise(() => eventually(works))
      })
      await Effect.runPromise(Effect.scoped(Effect.provide(program, clientOf(urlOf("gateway", query)))))
    } finally {
      restore()
    }
  })
})

describe("the URL of a database", () => {
  it.each([
    ["postgres://me:secret@h/db?ssl=true", 'the parameter "ssl" is unknown; write sslmode=verify-full'],
    [
      "postgres://me:secret@h/db?sslmode=on",
      "sslmode is one of disable, allow, prefer, require, verify-ca, verify-full",
    ],
    [
      "postgres://me:secret@h/db?channel_binding=require",
      "channel_binding=require needs sslmode=verify-full, verify-ca or require",
    ],
    [
      "postgres://me:secret@h,i:5432/db",
      "it is no URL of one server; a folder of sockets is written ?host=/folder after a host",
    ],
    ["postgres://me:secret@h/db?sslcert=/a", "sslcert and sslkey belong together"],
    [
      "postgres://me:secret@h/db?sslrootcert=/a",
      "sslrootcert, sslcert and sslkey need sslmode=verify-full, verify-ca or require",
    ],
    ["mysql://me:secret@h/db", "it must begin with postgres://"],
    ["postgres://me:secret@h/db?constructor=1", 'the parameter "constructor" is unknown'],
  ])("%s is refused by name, without its password", (url, problem) => {
    expect(parseDatabaseUrl(url)).toEqual(Result.fail(problem))
  })

  it("names a file that cannot be read, at the start", async () => {
    const env = { SVC_DATABASE_URL: "postgres://h/db?sslmode=verify-full&sslrootcert=/nowhere.pem" }
    const exit = await WeirConfig.pipe(
      Effect.provide(WeirConfig.layer),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
      Effect.runPromiseExit,
    )
    expect(String(exit)).toContain("SVC_DATABASE_URL: /nowhere.pem is empty or cannot be read")
  })
})
