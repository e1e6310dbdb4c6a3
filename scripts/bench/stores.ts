/** Watches the stores of a bench: what they use and wait for. */
import { randomUUID } from "node:crypto"
import { readdirSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { Redis } from "ioredis"
import { cpuSeconds, statOf } from "./load.ts"

/** A session of its own that watches the database. */
export const watchDatabase = (url: string) => {
  const runtime = ManagedRuntime.make(
    Layer.orDie(PgClient.layer({ url: Redacted.make(url), maxConnections: 1, applicationName: "bench" })),
  )
  const query = (text: string) =>
    runtime.runPromise(Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe<Readonly<Record<string, unknown>>>(text)))
  const number = async (text: string) => Number(Object.values((await query(text))[0] ?? {})[0])
  return {
    query,
    /** The CPU seconds of all its processes, including those that have ended. */
    cpu: async () => {
      const backend = await number("select pg_backend_pid()")
      const postmaster = parentOf(backend) ?? 0
      return readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name) && parentOf(Number(name)) === postmaster)
        .reduce((sum, pid) => sum + cpuSeconds(Number(pid)), cpuSeconds(postmaster))
    },
    commits: async () => {
      // Sessions report what they did once a second.
      await sleep(1500)
      return number("select xact_commit from pg_stat_database where datname = current_database()")
    },
    /** The number of sessions at work that wait for a lock of a row, sampled every few milliseconds. */
    sampleLocks: () => {
      let running = true
      const found = { locks: 0, samples: 0 }
      const sampling = (async () => {
        while (running) {
          const [row] = await query(`
            select count(*)::int as samples,
              count(*) filter (where wait_event_type = 'Lock' and wait_event in ('transactionid', 'tuple'))::int as locks
            from pg_stat_activity where application_name like 'weir%' and state = 'active'`)
          found.samples += Number(row?.["samples"])
          found.locks += Number(row?.["locks"])
          await sleep(5)
        }
      })()
      return {
        stop: async () => {
          running = false
          await sampling
          return found
        },
      }
    },
    close: () => runtime.dispose(),
  }
}

/** Creates a database beside the one of a session. @param url of that one */
export const createDatabase = async (session: Pick<Database, "query">, url: string) => {
  const name = `weir_bench_${randomUUID().replaceAll("-", "")}`
  await session.query(`create database ${name}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  return { url: own.href, drop: () => session.query(`drop database ${name} with (force)`) }
}

export type Database = ReturnType<typeof watchDatabase>

/** Watches a Redis: the CPU seconds it has used. */
export const watchRedis = (url: string) => {
  const redis = new Redis(url)
  return {
    cpu: async () =>
      [...(await redis.info("cpu")).matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].reduce(
        (sum, [, seconds]) => sum + Number(seconds),
        0,
      ),
    close: () => redis.disconnect(),
  }
}

/** The parent of a process; undefined if the process has ended. */
const parentOf = (pid: number): number | undefined => {
  try {
    return Number(statOf(pid)[1])
  } catch {
    return undefined
  }
}
