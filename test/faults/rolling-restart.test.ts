/** Nodes behind a real balancer are replaced one after the other under load, and no call is lost. Needs haproxy. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { Effect, Exit, Redacted, Scope } from "effect"
import { Agent, request } from "undici"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, hello, type ScriptedVendor, startScriptedVendor, testCatalogue } from "../../src/testing/index.ts"
import { accepts } from "../support/faults/processes.ts"
import { freePort } from "../support/free-port.ts"
import { eventually } from "../support/gateway.ts"
import { useOwnDatabase } from "../support/own-database.ts"
import { packagedCommandUnderLoad } from "../support/use-processes.ts"

const databaseServer = process.env["SVC_TEST_DATABASE_URL"]
const redisUrl = process.env["SVC_TEST_REDIS_URL"]
const hasBalancer = spawnSync("haproxy", ["-v"]).status === 0
const node = fileURLToPath(new URL("../../node_modules/.bin/node", import.meta.url))

const ids = { org: "org_rolling", app: "app_rolling", key: "key_rolling" }
const headers = { "content-type": "application/json", "x-svc-key-id": ids.key, "x-svc-key": "secret" }
const calls = 2000
const atOnce = 16

describe.skipIf(!hasBalancer || databaseServer === undefined || redisUrl === undefined)(
  "two nodes behind HAProxy",
  () => {
    const dir = mkdtempSync(join(tmpdir(), "weir-rolling-"))
    const scope = Scope.makeUnsafe()
    const database = useOwnDatabase(databaseServer)
    let vendor: ScriptedVendor
    let balancer: ChildProcess | undefined
    const nodes: Array<{ readonly port: number; process?: ChildProcess }> = []

    const start = async (at: number) => {
      const place = nodes[at]
      if (place === undefined) throw new Error("there is no such node")
      place.process = spawn(node, [...packagedCommandUnderLoad, "serve"], {
        env: {
          PATH: process.env["PATH"],
          SVC_ENV: "test",
          SVC_HOST: "127.0.0.1",
          SVC_PORT: String(place.port),
          SVC_DATABASE_URL: Redacted.value(database()),
          SVC_REDIS_URL: redisUrl,
          SVC_CATALOGUE: join(dir, "catalogue.yaml"),
          SVC_DATA_DIR: join(dir, `node${at}`),
          SVC_MASTER_KEY: "of a rolling restart",
          SVC_ADMIN_KEY_SHA256: "0".repeat(64),
          SVC_LAME_DUCK_MS: "4s",
          // A busy machine is late: what is looked at is what gets lost.
          SVC_SHED_LAG_MS: "60s",
          SVC_SHED_WAIT_MS: "60s",
          SVC_LOG_LEVEL: "Error",
          WEIR_TEST_KEY: "secret",
          WEIR_TEST_VENDOR: "secret",
        },
        stdio: "ignore",
      })
      const isReady = () =>
        fetch(`http://127.0.0.1:${place.port}/readyz`).then(
          ({ status }) => status === 200,
          () => false,
        )
      await eventually(isReady, 60_000)
    }
    const replace = async (at: number) => {
      const old = nodes[at]?.process
      const gone = new Promise((resolve) => old?.once("exit", resolve))
      old?.kill("SIGTERM")
      await gone
      await start(at)
      // A rolling update waits for the balancer, which asks each second.
      await sleep(2500)
    }

    let port = 0
    beforeAll(async () => {
      vendor = await Effect.runPromise(
        Scope.provide(startScriptedVendor(answering({ words: ["done"], inTokens: 1, outTokens: 1 }, 20)), scope),
      )
      writeFileSync(join(dir, "catalogue.yaml"), testCatalogue({ vendor: vendor.url, second: vendor.url }, ids))
      for (let at = 0; at < 2; at++) nodes.push({ port: await freePort() })
      await Promise.all(nodes.map((_, at) => start(at)))
      port = await freePort()
      const settings = [
        "defaults",
        "  mode http",
        "  timeout connect 2s",
        "  timeout client 60s",
        "  timeout server 60s",
        "frontend clients",
        `  bind 127.0.0.1:${port}`,
        "  default_backend weir",
        "backend weir",
        "  option httpchk GET /readyz",
        // Nothing is sent again: what a node loses is lost.
        "  retries 0",
        "  default-server check inter 1s fall 1 rise 1",
        ...nodes.map(({ port }, at) => `  server node${at} 127.0.0.1:${port}`),
      ]
      writeFileSync(join(dir, "haproxy.cfg"), `${settings.join("\n")}\n`)
      balancer = spawn("haproxy", ["-db", "-f", join(dir, "haproxy.cfg")], { stdio: "ignore" })
      await eventually(() => accepts(port))
    }, 120_000)
    afterAll(async () => {
      balancer?.kill("SIGKILL")
      for (const { process } of nodes) process?.kill("SIGKILL")
      await Effect.runPromise(Scope.close(scope, Exit.void))
      rmSync(dir, { recursive: true, force: true })
    })

    it("a rolling restart under load loses none of 2,000 calls", async () => {
      const agent = new Agent({ connections: atOnce })
      const url = `http://127.0.0.1:${port}/t1/exchange`
      const seen = new Map<string, number>()
      let isOver = false
      let made = 0
      const ask = async () => {
        const { statusCode, body } = await request(url, {
          method: "POST",
          headers,
          body: JSON.stringify(hello),
          dispatcher: agent,
        })
        await body.dump()
        return String(statusCode)
      }
      const client = async () => {
        while (!isOver || made < calls) {
          made++
          const outcome = await ask().catch((error: unknown) => String(error))
          seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
          await sleep(50)
        }
      }
      const load = Promise.all(Array.from({ length: atOnce }, client))
      await replace(0)
      await replace(1)
      isOver = true
      await load
      expect([...seen.keys()]).toEqual(["200"])
      expect(made).toBeGreaterThanOrEqual(calls)
      await agent.close()
    }, 180_000)
  },
)
