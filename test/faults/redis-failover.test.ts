/** Redis servers that refuse to write: a connection is left, and readiness says what calls would hear. */
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually, useGateway } from "../support/gateway.ts"
import { hasRedisServer, movableAddress, type RedisServer, startRedisServer } from "./redis-server.ts"

const started: Array<RedisServer> = []
const start = async (...options: ReadonlyArray<string>) => {
  const server = await startRedisServer(...options)
  started.push(server)
  return server
}
afterAll(() => {
  for (const server of started) server.stop()
})

/** A heartbeat asks Redis each time; an exchange may be counted by the node itself. */
const beatOf = (gateway: ReturnType<ReturnType<typeof useGateway>>) => async () =>
  (await gateway.call("POST", "/t1/heartbeat", {})).status
const readyOf = (gateway: ReturnType<ReturnType<typeof useGateway>>) => async () =>
  (await fetch(`${gateway.baseUrl}/readyz`)).status

describe.skipIf(!hasRedisServer)("a Redis that refuses to write", () => {
  let first: RedisServer
  let second: RedisServer
  let address: Awaited<ReturnType<typeof movableAddress>>
  beforeAll(async () => {
    first = await start()
    second = await start("--replicaof", "127.0.0.1", String(first.port))
    await eventually(() => second.info("replication").includes("master_link_status:up"))
    address = await movableAddress(first.port)
  })
  afterAll(() => address.close())
  const gateway = useGateway(() => ({
    config: { redisUrl: Redacted.make(`redis://127.0.0.1:${address.port}`), redisDeadlineMs: 1000 },
  }))

  it("after a failover behind one address, calls work again within two seconds, while old connections stay open", async () => {
    const beat = beatOf(gateway())
    expect(await beat()).toBe(200)
    second.cli("replicaof", "no", "one")
    address.pointTo(second.port)
    first.cli("replicaof", "127.0.0.1", String(second.port))
    await eventually(async () => (await beat()) === 200, 2000)
    expect(await readyOf(gateway())()).toBe(200)
  })

  it("a replica, a full server, and one that has forgotten its client are not ready, although each answers PING; it heals by itself", async () => {
    const ready = readyOf(gateway())
    const beat = beatOf(gateway())
    const faults: ReadonlyArray<readonly [begin: ReadonlyArray<string>, end: ReadonlyArray<string>]> = [
      [
        ["replicaof", "127.0.0.1", String(first.port)],
        ["replicaof", "no", "one"],
      ],
      [
        ["config", "set", "maxmemory", "1"],
        ["config", "set", "maxmemory", "0"],
      ],
      [
        ["config", "set", "min-replicas-to-write", "3"],
        ["config", "set", "min-replicas-to-write", "0"],
      ],
      [
        ["acl", "setuser", "default", "-@scripting"],
        ["acl", "setuser", "default", "+@all"],
      ],
    ]
    first.cli("replicaof", "no", "one")
    for (const [begin, end] of faults) {
      second.cli(...begin)
      expect(await ready(), begin.join(" ")).toBe(503)
      expect(await beat(), begin.join(" ")).toBe(503)
      second.cli(...end)
      await eventually(async () => (await ready()) === 200 && (await beat()) === 200)
    }
  })

  it("while the address points at a replica for long, it is not connected to over and over", async () => {
    const beat = beatOf(gateway())
    const connections = () => Number(/total_connections_received:(\d+)/.exec(second.info("stats"))?.[1])
    second.cli("replicaof", "127.0.0.1", String(first.port))
    await eventually(async () => (await beat()) === 503)
    const before = connections()
    const endsAt = Date.now() + 3000
    while (Date.now() < endsAt) await Promise.all(Array.from({ length: 8 }, beat))
    // Two a second, and those that ask for the number.
    expect(connections() - before).toBeLessThan(12)
    second.cli("replicaof", "no", "one")
    await eventually(async () => (await beat()) === 200, 2000)
  })

  it("a master that falls silent is left, without a call that heals it: readiness alone does", async () => {
    const ready = readyOf(gateway())
    first.cli("replicaof", "no", "one")
    expect(await ready()).toBe(200)
    address.pointTo(first.port)
    second.process.kill("SIGSTOP")
    try {
      await eventually(async () => (await ready()) === 503, 5000)
      await eventually(async () => (await ready()) === 200, 5000)
    } finally {
      second.process.kill("SIGCONT")
    }
    expect(await beatOf(gateway())()).toBe(200)
  })
})
