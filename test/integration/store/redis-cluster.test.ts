/**
 * A Redis Cluster of three nodes: an organisation's keys are in one slot. Needs redis-server and
 * redis-cli.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { hello } from "../../../src/testing/index.ts"
import { freePort } from "../../support/free-port.ts"
import { errorOf, eventually, useGateway } from "../../support/gateway.ts"

const hasRedis =
  spawnSync("redis-server", ["--version"]).status === 0 && spawnSync("redis-cli", ["--version"]).status === 0

const dir = mkdtempSync(join(tmpdir(), "weir-cluster-"))
const nodes: Array<{ readonly port: number; readonly process: ChildProcess }> = []
const cli = (...args: ReadonlyArray<string>) => execFileSync("redis-cli", args, { encoding: "utf8" })

const startCluster = async (): Promise<string> => {
  for (let count = 0; count < 3; count++) {
    const port = await freePort()
    const own = ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no"]
    const clustered = ["--cluster-enabled", "yes", "--cluster-config-file", `nodes-${port}.conf`]
    nodes.push({ port, process: spawn("redis-server", [...own, ...clustered], { stdio: "ignore" }) })
  }
  const ports = nodes.map(({ port }) => port)
  for (const port of ports) {
    await eventually(() => spawnSync("redis-cli", ["-p", String(port), "ping"]).stdout.includes("PONG"))
  }
  cli("--cluster", "create", ...ports.map((port) => `127.0.0.1:${port}`), "--cluster-replicas", "0", "--cluster-yes")
  for (const port of ports) {
    await eventually(() => cli("-p", String(port), "cluster", "info").includes("cluster_state:ok"), 20_000)
  }
  return ports.map((port) => `redis://127.0.0.1:${port}`).join(",")
}
const urls = hasRedis ? await startCluster() : ""
afterAll(() => {
  for (const { process } of nodes) process.kill("SIGKILL")
  rmSync(dir, { recursive: true, force: true })
})

describe.skipIf(!hasRedis)("a Redis Cluster of three nodes", () => {
  // A thousand calls at once may take longer than a second where the machine is busy: what they count is looked at, not when.
  const gateway = useGateway({ config: { redisUrl: Redacted.make(urls), redisDeadlineMs: 10_000 } })

  it("admits, claims and replays", async () => {
    const body = { ...hello, meta: { requestId: randomUUID() } }
    const first = await gateway().exchange(body)
    expect(first.status).toBe(200)
    const again = await gateway().exchange(body)
    expect([again.status, again.headers.get("x-svc-idempotent-replay")]).toEqual([200, "1"])
    expect(await again.text()).toBe(await first.text())
    const other = { ...body, thread: [{ role: "user", blocks: [{ t: "text", v: "else" }] }] }
    expect(await errorOf(await gateway().exchange(other))).toMatchObject({ code: "idempotency_conflict" })
  })

  it("keeps sessions", async () => {
    const begin = await (await gateway().call("POST", "/t1/heartbeat", {})).json()
    expect(begin).toMatchObject({ sessionId: expect.any(String) })
  })

  it("200 organisations at once, with keys on all nodes: each is counted separately and exactly", async () => {
    const { gate } = gateway()
    const owners = Array.from({ length: 200 }, () => `org_${randomUUID()}`)
    const admit = (owner: string) =>
      gate.admit({ owner, keyId: "k", rates: [{ bucket: "key:k", limit: 2, windowMs: 60_000 }] })
    const outcomes = await Effect.runPromise(
      Effect.forEach(
        owners,
        (owner) =>
          Effect.all(
            Array.from({ length: 5 }, () => Effect.exit(admit(owner))),
            { concurrency: "unbounded" },
          ),
        { concurrency: "unbounded" },
      ),
    )
    for (const exits of outcomes) expect(exits.filter(({ _tag }) => _tag === "Success").length).toBe(2)
    for (const { port } of nodes) expect(Number(cli("-p", String(port), "dbsize"))).toBeGreaterThan(20)
  })

  it("a dead node is an unavailable gate, for its organisations only", async () => {
    const { gate } = gateway()
    const owners = Array.from({ length: 60 }, () => `org_${randomUUID()}`)
    nodes[2]?.process.kill("SIGKILL")
    const rates = [{ bucket: "key:k", limit: 100, windowMs: 60_000 }]
    const outcome = (owner: string) =>
      Effect.map(Effect.exit(gate.admit({ owner, keyId: "k", rates })), ({ _tag }) => _tag)
    const seen = await Effect.runPromise(Effect.forEach(owners, outcome, { concurrency: "unbounded" }))
    expect(seen).toContain("Failure")
    await eventually(async () => (await gateway().call("GET", "/healthz")).status === 200)
  })
})
