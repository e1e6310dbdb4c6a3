/**
 * The cost of an exchange in all processes together, against the second floor; and the resources of a gateway that has
 * started.
 */
import { spawnSync } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { cpuSeconds, drive, median, residentBytes } from "./load.ts"
import type { Scenario } from "./scenario.ts"
import { watchDatabase, watchRedis } from "./stores.ts"

/** Gateway, PostgreSQL and Redis, for one JSON exchange. */
export const system: Scenario = async ({ weir, startByHand }, { rounds, scale }) => {
  const { SVC_TEST_DATABASE_URL: databaseUrl, SVC_TEST_REDIS_URL: redisUrl } = process.env
  if (databaseUrl === undefined || redisUrl === undefined) return []
  const database = watchDatabase(databaseUrl)
  const redis = watchRedis(redisUrl)
  const byHand = await startByHand()
  const requests = 4000 * scale
  try {
    const parts = new Map([byHand, weir].map((subject) => [subject, { own: [], postgres: [], redis: [] } as Parts]))
    for (const subject of parts.keys()) await drive(subject.exchange("short"), { requests, inFlight: 32 })
    for (let round = 0; round < rounds; round++) {
      for (const [subject, part] of parts) {
        const before = [cpuSeconds(subject.pid), await database.cpu(), await redis.cpu()] as const
        await drive(subject.exchange("short"), { requests, inFlight: 32 })
        part.own.push(((cpuSeconds(subject.pid) - before[0]) * 1e6) / requests)
        part.postgres.push((((await database.cpu()) - before[1]) * 1e6) / requests)
        part.redis.push((((await redis.cpu()) - before[2]) * 1e6) / requests)
      }
    }
    const [hand, ours] = [...parts.values()].map(sumOf)
    return [
      {
        what: "CPU per JSON exchange: gateway, PostgreSQL and Redis; floor: by hand",
        unit: "µs",
        floor: hand?.whole ?? 0,
        weir: ours?.whole ?? 0,
        note: `by hand ${hand?.shown}; Weir ${ours?.shown}`,
        budget: { of: "ratio", max: 1.7 },
      },
    ]
  } finally {
    redis.close()
    await database.close()
  }
}

interface Parts {
  readonly own: Array<number>
  readonly postgres: Array<number>
  readonly redis: Array<number>
}

const sumOf = (parts: Parts) => {
  const [own, postgres, redis] = [parts.own, parts.postgres, parts.redis].map(median)
  const all = [own ?? 0, postgres ?? 0, redis ?? 0]
  return { whole: all.reduce((sum, us) => sum + us, 0), shown: all.map((us) => us.toFixed(0)).join(" + ") }
}

/** Resident memory of a compiled gateway a few seconds after its start, as it is installed. */
export const start: Scenario = async ({ another }) => {
  const root = fileURLToPath(new URL("../..", import.meta.url))
  const built = spawnSync("npm", ["run", "build"], { cwd: root })
  if (built.status !== 0) throw new Error(`The build failed: ${built.stdout}${built.stderr}`)
  const gateway = await another({}, { program: `${root}/dist/bin/main.js` })
  await sleep(5000)
  const external = process.env["SVC_TEST_DATABASE_URL"] !== undefined
  return [
    {
      what: `resident memory at start, ${external ? "external stores" : "embedded database"}`,
      unit: "MiB",
      weir: residentBytes(gateway.pid) / 2 ** 20,
      budget: { of: "value", max: external ? 130 : 350 },
    },
  ]
}
