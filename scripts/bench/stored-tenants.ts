/** Organisations as rows of a PostgreSQL server: what a gateway costs with as many of them, when few are active. */
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { cpuSeconds, drive, type Endpoint, median, residentBytes } from "./load.ts"
import { preloaded } from "./preloaded.ts"
import { createDatabase, watchDatabase } from "./stores.ts"
import type { Subjects, Weir } from "./subjects.ts"

const adminKey = "wa_bench"
const secret = "secret"

export interface Stored {
  readonly startMs: number
  /** Organisations that called in the round. */
  readonly active: number
  /** Resident memory after the round. */
  readonly roundMiB: number
  readonly unknownUs: number
  /** The time of a call of known organisations in turn. */
  readonly knownUs: number
  /** The time of a call of one of them, in the same minute. */
  readonly oneUs: number
  readonly oneStallMs: number
  readonly batchStallMs: number
  readonly platformStallMs: number
  readonly disabledMs: number
  readonly revokedMs: number
}

/** @param orgs organisations, each with an application, a key and money; at most 20,000 of them are active */
export const measureStored = async (subjects: Subjects, orgs: number, scale: number): Promise<Stored> => {
  const server = process.env["SVC_TEST_DATABASE_URL"] ?? ""
  const outer = watchDatabase(server)
  const own = await createDatabase(outer, server)
  const inner = watchDatabase(own.url)
  const dir = mkdtempSync(join(tmpdir(), "weir-stored-"))
  const delay = join(dir, "delay")
  const started: Array<Weir> = []
  const start = async () => {
    const weir = await subjects.another({
      SVC_DATABASE_URL: own.url,
      SVC_ADMIN_KEY_SHA256: createHash("sha256").update(adminKey).digest("hex"),
      NODE_OPTIONS: `--import ${fileURLToPath(new URL("./loop-delay.ts", import.meta.url))}`,
      BENCH_LOOP_DELAY: delay,
    })
    started.push(weir)
    return weir
  }
  const stop = async ({ pid }: Weir) => {
    process.kill(pid, "SIGTERM")
    for (let tries = 0; isRunning(pid) && tries < 600; tries++) await sleep(50)
  }
  try {
    await stop(await start())
    await fill(inner.query, orgs)
    const startedAt = performance.now()
    const weir = await start()
    const startMs = performance.now() - startedAt
    const active = Math.min(orgs, Math.round(20_000 * scale))
    const perExchange = async (requests: number, next: () => Endpoint) => {
      const before = cpuSeconds(weir.pid)
      await drive(next, { requests, inFlight: 32 })
      return ((cpuSeconds(weir.pid) - before) / requests) * 1e6
    }
    const cycle = () => {
      let at = 0
      return () => exchangeOf(weir, at++ % active)
    }
    // Until the compiler has done its work, with one tenant.
    await perExchange(12_000 * scale, () => exchangeOf(weir, 0))
    const unknownUs = await perExchange(active, cycle())
    // In turns with one organisation's: the machine changes by more than the difference.
    const next = cycle()
    const known: Array<readonly [oneUs: number, manyUs: number]> = []
    for (let round = 0; round < 4; round++) {
      const oneUs = await perExchange(10_000 * scale, () => exchangeOf(weir, 0))
      // While the one was measured, the others' allotments have gone back.
      await drive(next, { requests: active, inFlight: 32 })
      known.push([oneUs, await perExchange(10_000 * scale, next)])
    }
    const oneUs = median(known.map(([one]) => one))
    const knownUs = oneUs * median(known.map(([one, many]) => many / one))
    const roundMiB = residentBytes(weir.pid) / 1024 ** 2

    const other = await start()
    const stall = preloaded(weir.pid, delay)
    const stallOf = async (change: () => Promise<unknown>) => {
      await stall()
      await change()
      await sleep(200)
      return stall()
    }
    const rename = (to: string) => admin(weir, "PATCH", "orgs/o0", { name: to })
    const create = (prefix: string) =>
      admin(weir, "POST", "tenants:batch", {
        items: Array.from({ length: 1000 }, (_, at) => ({
          op: "create",
          kind: "org",
          value: { id: `${prefix}${at}`, name: `New ${at}`, currency: "USD", models: ["short"] },
        })),
      })
    const applyOutput = (tokens: number) =>
      admin(weir, "POST", "catalogue", { text: subjects.catalogue.replace("maxOutput: 2000", `maxOutput: ${tokens}`) })
    // The second of each: the first one compiles the code.
    await rename("Second")
    const oneStallMs = await stallOf(() => rename("Third"))
    await create("first")
    const batchStallMs = await stallOf(() => create("second"))
    await applyOutput(1999)
    const platformStallMs = await stallOf(() => applyOutput(1998))

    const untilRefused = async (org: number, change: () => Promise<unknown>) => {
      const call = () => post(exchangeOf(other, org))
      if ((await call()) !== 200) throw new Error("the other node did not answer")
      await change()
      const changedAt = performance.now()
      while ((await call()) === 200) await sleep(5)
      return performance.now() - changedAt
    }
    const last = orgs - 1
    const disabledMs = await untilRefused(last, () => admin(weir, "PATCH", `orgs/o${last}`, { status: "disabled" }))
    await admin(weir, "PATCH", `orgs/o${last}`, { status: "active" })
    await sleep(2500)
    const revokedMs = await untilRefused(last, () => admin(weir, "POST", `keys/k${last}/revoke`))
    return {
      startMs,
      active,
      roundMiB,
      unknownUs,
      knownUs,
      oneUs,
      oneStallMs,
      batchStallMs,
      platformStallMs,
      disabledMs,
      revokedMs,
    }
  } finally {
    for (const weir of started) if (isRunning(weir.pid)) await stop(weir)
    await inner.close()
    await own.drop()
    await outer.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Without the notices of changes: nobody runs who could hear them. */
const fill = async (query: (text: string) => Promise<unknown>, orgs: number) => {
  for (const table of ["tenants", "app_keys"]) await query(`alter table ${table} disable trigger note_change`)
  await query(`
    insert into tenants (kind, id, org_id, is_declared, document)
    select 'org', 'o' || n, 'o' || n, false, jsonb_build_object('id', 'o' || n, 'name', 'Name ' || n, 'plan', 'bench',
      'currency', 'USD', 'models', jsonb_build_array('short'))
    from generate_series(0, ${orgs - 1}) n`)
  await query(`
    insert into tenants (kind, id, org_id, is_declared, document)
    select 'app', 'a' || n, 'o' || n, false, jsonb_build_object('id', 'a' || n, 'org', 'o' || n)
    from generate_series(0, ${orgs - 1}) n`)
  await query(`
    insert into app_keys (id, app_id, secret_sha256, scopes, origin)
    select 'k' || n, 'a' || n, sha256('${secret}'), '{runtime}', 'admin' from generate_series(0, ${orgs - 1}) n`)
  await query(`
    insert into counters (org_id, counter, funded) select 'o' || n, 'USD', 10 from generate_series(0, ${orgs - 1}) n`)
  for (const table of ["tenants", "app_keys"]) await query(`alter table ${table} enable trigger note_change`)
  for (const table of ["tenants", "app_keys", "counters"]) await query(`vacuum analyze ${table}`)
}

const exchangeOf = (weir: Weir, org: number): Endpoint => ({
  ...weir.exchange("short"),
  headers: { "x-svc-key-id": `k${org}`, "x-svc-key": secret },
})

const post = async ({ origin, path, headers, body }: Endpoint): Promise<number> => {
  const reply = await fetch(`${origin}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  })
  await reply.text()
  return reply.status
}

const admin = async (weir: Weir, method: string, path: string, body?: unknown) => {
  const reply = await fetch(`${weir.exchange("short").origin}/v1/admin/${path}`, {
    method,
    headers: { "content-type": "application/json", "x-svc-admin-key": adminKey },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${text}`)
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
