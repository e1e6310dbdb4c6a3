/** Redis whose master the Sentinels know: calls follow it. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../support/free-port.ts"
import { eventually, useGateway } from "../support/gateway.ts"
import { hasRedisServer, type RedisServer, startRedisServer } from "./redis-server.ts"

describe.skipIf(!hasRedisServer)("Redis behind Sentinel", () => {
  const dir = mkdtempSync(join(tmpdir(), "weir-sentinel-"))
  const sentinels: Array<{ readonly port: number; readonly process: ChildProcess }> = []
  let master: RedisServer
  let replica: RedisServer

  const startSentinel = async () => {
    const port = await freePort()
    const file = join(dir, `${port}.conf`)
    const settings = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${dir}`,
      `sentinel monitor weir 127.0.0.1 ${master.port} 2`,
      "sentinel down-after-milliseconds weir 500",
      "sentinel failover-timeout weir 2000",
    ]
    writeFileSync(file, `${settings.join("\n")}\n`)
    sentinels.push({ port, process: spawn("redis-server", [file, "--sentinel"], { stdio: "ignore" }) })
  }
  const askSentinel = (...args: ReadonlyArray<string>) =>
    String(spawnSync("redis-cli", ["-p", String(sentinels[0]?.port), "sentinel", ...args]).stdout)

  beforeAll(async () => {
    master = await startRedisServer("--repl-diskless-sync-delay", "0")
    replica = await startRedisServer("--replicaof", "127.0.0.1", String(master.port))
    await eventually(() => replica.info("replication").includes("master_link_status:up"))
    for (let count = 0; count < 3; count++) await startSentinel()
    // A failover needs a replica, and the votes of others, that the Sentinels have found.
    await eventually(() => askSentinel("replicas", "weir").includes("slave-repl-offset"))
    await eventually(() => askSentinel("ckquorum", "weir").startsWith("OK 3 usable"), 30_000)
  }, 60_000)
  afterAll(() => {
    for (const { process } of sentinels) process.kill("SIGKILL")
    master.stop()
    replica.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  const gateway = useGateway(() => {
    const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")
    return { config: { redisUrl: Redacted.make(`redis-sentinel://${hosts}/weir`), redisDeadlineMs: 1000 } }
  })
  const beat = async () => (await gateway().call("POST", "/t1/heartbeat", {})).status
  /** The view of each, for the report of a failure: a failover that Sentinel never made is not the gateway's fault. */
  const views = () => {
    const asked = ({ port }: { readonly port: number }) =>
      ["master", "replicas"].map((of) =>
        String(spawnSync("redis-cli", ["-p", String(port), "sentinel", of, "weir"]).stdout),
      )
    const redis = [master, replica].map(({ port, info }) => `${port} ${info("replication")}`)
    return [...redis, ...sentinels.flatMap(asked)].join("\n").replaceAll(/\n(?=\S)/g, " ")
  }

  it("calls follow a master that is moved, and one that has died", async () => {
    expect(await beat()).toBe(200)
    // A Sentinel that has not heard of the replica for a moment refuses; one that is at it answers so.
    await eventually(() => {
      if (replica.info("replication").includes("role:master")) return true
      askSentinel("failover", "weir")
      return false
    }, 75_000)
    await eventually(async () => (await beat()) === 200, 20_000)
    // The old master becomes a replica of the new one a while later.
    await eventually(() => master.info("replication").includes("master_link_status:up"), 30_000)
    expect(await beat()).toBe(200)
    await eventually(() => askSentinel("replicas", "weir").includes("master-link-status\nok"), 30_000)
    replica.stop()
    await eventually(async () => (await beat()) !== 200)
    // A Sentinel whose clock was delayed does nothing for 30 s (its TILT mode): a machine under load makes that happen.
    await eventually(() => master.info("replication").includes("role:master"), 100_000).catch((cause: unknown) => {
      throw new Error(`Sentinel promoted nobody: ${views()}`, { cause })
    })
    await eventually(async () => (await beat()) === 200, 20_000)
    expect((await fetch(`${gateway().baseUrl}/readyz`)).status).toBe(200)
  }, 240_000)
})
