/** Redis with TLS: both sides prove who they are, and a password in a file is read for each new connection. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Effect, Exit, Layer, Result } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { WeirConfig } from "../../../src/config.ts"
import { parseRedisUrl } from "../../../src/protocol/values/redis-url.ts"
import { Redis } from "../../../src/store/redis.ts"
import { isFromWrongServer } from "../../../src/store/redis-connection.ts"
import { authority, issued } from "../../support/certificate.ts"
import { freePort } from "../../support/free-port.ts"
import { eventually } from "../../support/gateway.ts"
import { withVariables } from "../../support/variables.ts"

const hasRedis = spawnSync("redis-server", ["--version"]).status === 0

describe.skipIf(!hasRedis)("Redis with TLS", () => {
  const dir = mkdtempSync(join(tmpdir(), "weir-redis-tls-"))
  const file = (name: string, text: string) => {
    const path = join(dir, name)
    writeFileSync(path, text)
    return path
  }
  const ca = file("ca.pem", authority)
  const cert = file("client.pem", issued.client.cert)
  const key = file("client.key", issued.client.key)
  const urlFile = join(dir, "url")
  const startMs = 20_000
  let server: ChildProcess
  let port = 0
  const cli = (password: string, ...args: ReadonlyArray<string>) =>
    String(
      spawnSync("redis-cli", [
        ...["-p", String(port), "--tls", "--cacert", ca, "--cert", cert, "--key", key, "--no-auth-warning"],
        ...["-a", password, ...args],
      ]).stdout,
    )
  beforeAll(async () => {
    port = await freePort()
    server = spawn(
      "redis-server",
      [
        ...["--port", "0", "--tls-port", String(port), "--bind", "127.0.0.1", "--save", "", "--requirepass", "first"],
        ...["--tls-cert-file", file("server.pem", issued.server.cert)],
        ...["--tls-key-file", file("server.key", issued.server.key), "--tls-ca-cert-file", ca],
      ],
      { stdio: "ignore" },
    )
    await eventually(() => cli("first", "ping").includes("PONG"))
  })
  afterAll(() => {
    server.kill("SIGKILL")
    rmSync(dir, { recursive: true, force: true })
  })
  const redis = Layer.fresh(Redis.layer).pipe(Layer.provide(Layer.fresh(WeirConfig.layer)))
  /** Its variables are read as those of a process. */
  const withRedis = async <A>(
    variables: Readonly<Record<string, string>>,
    use: (redis: Redis["Service"]) => Promise<A>,
  ) => {
    const restore = withVariables(variables)
    try {
      const program = Effect.flatMap(Redis, (service) => Effect.promise(() => use(service)))
      const provider = ConfigProvider.layer(ConfigProvider.fromEnv({ env: { ...variables } }))
      return await Effect.runPromiseExit(Effect.scoped(Effect.provide(program, Layer.provide(redis, provider))))
    } finally {
      restore()
    }
  }
  const tls = { SVC_REDIS_CA: ca, SVC_REDIS_CERT: cert, SVC_REDIS_KEY: key }

  it(
    "a certificate that nobody vouches for, or a client without one, is refused with its reason",
    async () => {
      const url = { SVC_REDIS_URL: `rediss://:first@127.0.0.1:${port}` }
      const reasons: Array<string> = []
      for (const variables of [url, { ...url, SVC_REDIS_CA: ca }]) {
        const exit = await withRedis(variables, async () => "reached")
        reasons.push(Exit.isFailure(exit) ? String(exit.cause) : "reached")
      }
      expect(reasons[0]).toMatch(/unable to (verify|get)|self-signed|local issuer/)
      expect(reasons[1]).toMatch(/not reachable/)
    },
    startMs,
  )

  it(
    "connects, and after a rotation of the password with the one that its file has then",
    async () => {
      writeFileSync(urlFile, `rediss://:first@127.0.0.1:${port}`)
      const exit = await withRedis({ ...tls, SVC_REDIS_URL_FILE: urlFile }, async (service) => {
        const works = () => Effect.runPromise(Effect.isSuccess(service.ping))
        expect(await works()).toBe(true)
        cli("first", "config", "set", "requirepass", "second")
        writeFileSync(urlFile, `rediss://:second@127.0.0.1:${port}`)
        cli("second", "client", "kill", "type", "normal")
        await eventually(works)
      })
      expect(Exit.isSuccess(exit), String(exit)).toBe(true)
    },
    startMs,
  )
})

it("tells what is wrong with an address, without its password", () => {
  const problems: ReadonlyArray<readonly [url: string, problem: string]> = [
    ["redis://:secret@host?ssl=true", 'the parameter "ssl" is unknown'],
    ["http://:secret@host", "it must begin with redis://, rediss://, redis-sentinel:// or rediss-sentinel://"],
    ["redis://a,rediss://b", "its addresses have one scheme"],
    ["redis://a/1,redis://b/1", "a cluster has database 0 only"],
    ["redis://a/first", "the number of a database is a number"],
    ["redis-sentinel://:secret@a,b", "behind the Sentinels' addresses is the name of the master: /name or /name/db"],
  ]
  for (const [url, problem] of problems) expect(parseRedisUrl(url), url).toEqual(Result.fail(problem))
})

it("tells replies of a server that a client should leave from refusals of what was asked", () => {
  const wrong = [
    "READONLY You can't write against a read only replica. script: 5e3, on @user_script:1.",
    "ERR Error running script (call to f_5e3): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
    "LOADING Redis is loading the dataset in memory",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
    "OOM command not allowed when used memory > 'maxmemory'. script: 5e3, on @user_script:1.",
    "NOAUTH Authentication required.",
    "CLUSTERDOWN The cluster is down",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "NOREPLICAS Not enough good replicas to write.",
  ]
  expect(wrong.filter((message) => !isFromWrongServer(message))).toEqual([])
  const asked = ["NOSCRIPT No matching script.", "WRONGTYPE Operation against a key", "ERR value READONLY is odd"]
  expect(asked.filter(isFromWrongServer)).toEqual([])
})
