/** The servers of a fault run: gateways on one PostgreSQL and one Redis, which are killed and cut off at random. */
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "../free-port.ts"
import { query, startPostgres } from "./databases.ts"
import { gateway, gatewayEnvironment, redis, type Service } from "./processes.ts"
import { openLine } from "./proxy.ts"

export interface FleetOptions {
  /** A folder for them all; PostgreSQL's user can read it. */
  readonly dir: string
  /** The file of the catalogue. */
  readonly catalogue: string
  readonly gateways: number
  readonly adminKey: string
  /** A whole number below another. */
  readonly pick: (count: number) => number
  readonly faultEveryMs: number
}

export const startFleet = async ({ dir, catalogue, gateways: count, adminKey, pick, faultEveryMs }: FleetOptions) => {
  const cachePort = await freePort()
  const cache = redis(cachePort)
  await cache.start()
  const redisLine = await openLine(cachePort)
  const databases = await startPostgres(dir)
  const environment = {
    ...gatewayEnvironment({ catalogue, databaseUrl: databases.url, redisPort: redisLine.port, adminKey }),
    SVC_REDIS_DEADLINE_MS: "500",
  }
  const ports = await Promise.all(Array.from({ length: count }, freePort))
  const gateways = ports.map((port, at) => gateway(`gateway${at}`, dir, port, environment))
  for (const each of gateways) await each.start()

  const restart = async (service: Service | undefined) => {
    await service?.kill()
    await sleep(100 + pick(900))
    await service?.start()
  }
  const faults: ReadonlyArray<readonly [name: string, act: () => Promise<void>]> = [
    ["gateway killed", () => restart(gateways[pick(gateways.length)])],
    ["gateway killed", () => restart(gateways[pick(gateways.length)])],
    ["redis killed", () => restart(cache)],
    ["postgres killed", () => restart(databases.servers[0])],
    ["postgres lines cut", async () => databases.lines[0]?.cut()],
    ["redis lines cut", async () => redisLine.cut()],
    ["postgres silent", async () => databases.lines[0]?.stall(500 + pick(2500))],
  ]

  return {
    /** The address of the first gateway. */
    first: `http://127.0.0.1:${ports[0]}`,
    /** The address of any gateway. */
    any: () => `http://127.0.0.1:${ports[pick(ports.length)]}`,
    query: (sql: string) => query(databases.port, sql),
    /** Begins the faults. @returns the function that ends them, and says how many there were of each */
    beginFaults: () => {
      const counts = new Map<string, number>()
      let running = true
      const chaos = (async () => {
        while (running) {
          await sleep(faultEveryMs)
          const [name, act] = faults[pick(faults.length)] ?? ["", async () => undefined]
          counts.set(name, (counts.get(name) ?? 0) + 1)
          await act()
        }
      })()
      return async () => {
        running = false
        await chaos
        return [...counts].map(([name, times]) => `${name} ${times}`).join(", ")
      }
    },
    /** Waits until leases of killed gateways have expired and the holds of their calls are closed. */
    settled: async () => {
      for (let tries = 0; tries < 60; tries++) {
        const [[open] = []] = await query(databases.port, "select count(*) from holds where state = 'open'")
        if (open === "0" && tries > 10) return
        await sleep(500)
      }
    },
    /** The money that is left of a currency. */
    left: async (currency: string) => {
      const [[left] = []] = await query(
        databases.port,
        `select (select funded - granted from counters where counter = '${currency}')
          + coalesce((select sum(granted - spent) from allotments where counter = '${currency}'), 0)`,
      )
      return Number(left)
    },
    stop: async () => {
      await Promise.all([...gateways, cache, ...databases.servers].map((service) => service.kill()))
      for (const line of [redisLine, ...databases.lines]) line.close()
    },
  }
}
