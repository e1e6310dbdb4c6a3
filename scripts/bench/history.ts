/** Ninety days of usage: how long summaries of it take, and how long folding it by the hour took. */
import { createHash } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { createDatabase, watchDatabase } from "./stores.ts"
import type { Subjects } from "./subjects.ts"

const adminKey = "wa_bench"
const days = 90

export interface History {
  readonly records: number
  /** Folding all of it, after a start. */
  readonly foldS: number
  /** Medians. */
  readonly wholeMs: number
  readonly byOrgMs: number
  readonly oneOrgMs: number
  readonly listMs: number
  readonly dayMs: number
}

/** @param records usage records, spread evenly over ninety days and 40 organisations */
export const measureHistory = async (subjects: Subjects, records: number): Promise<History> => {
  const server = process.env["SVC_TEST_DATABASE_URL"] ?? ""
  const outer = watchDatabase(server)
  const own = await createDatabase(outer, server)
  const inner = watchDatabase(own.url)
  const variables = {
    SVC_DATABASE_URL: own.url,
    SVC_ADMIN_KEY_SHA256: createHash("sha256").update(adminKey).digest("hex"),
  }
  const started: Array<number> = []
  const start = async () => {
    const weir = await subjects.another(variables)
    started.push(weir.pid)
    return weir
  }
  try {
    process.kill((await start()).pid, "SIGTERM")
    await sleep(2000)
    await fill(inner.query, records)
    const startedAt = performance.now()
    const weir = await start()
    while ((await left(inner.query)) > 0) await sleep(200)
    const foldS = (performance.now() - startedAt) / 1000
    await inner.query("vacuum analyze usage_rollups, unit_rollups, first_frame_rollups, usage_records")
    const from = new Date(Date.now() - days * 86_400_000).toISOString()
    const { origin } = weir.call("/v1/session", {})
    const time = async (path: string) => {
      const times: Array<number> = []
      for (let turn = 0; turn < 9; turn++) {
        const at = performance.now()
        const reply = await fetch(`${origin}/v1/admin/${path}`, { headers: { "x-svc-admin-key": adminKey } })
        await reply.text()
        if (reply.status !== 200) throw new Error(`${path}: ${reply.status}`)
        times.push(performance.now() - at)
      }
      return times.sort((a, b) => a - b)[4] ?? Number.NaN
    }
    return {
      records,
      foldS,
      wholeMs: await time(`usage-summary?from=${from}`),
      byOrgMs: await time(`usage-summary?from=${from}&by=org`),
      oneOrgMs: await time(`usage-summary?from=${from}&org=org_1&by=key`),
      dayMs: await time("usage-summary"),
      listMs: await time("exchanges?limit=50"),
    }
  } finally {
    for (const pid of started) {
      try {
        process.kill(pid, "SIGKILL")
      } catch {
        // It has ended.
      }
    }
    await inner.close()
    await own.drop()
    await outer.close()
  }
}

type Query = ReturnType<typeof watchDatabase>["query"]

const left = async (query: Query): Promise<number> => {
  const [row] = await query(
    "select (extract(epoch from now() - interval '71 minutes' - hour) / 3600)::int as hours from usage_folded",
  )
  return Number(row?.["hours"])
}

const fill = async (query: Query, records: number): Promise<void> => {
  const perDay = Math.ceil(records / days)
  // Retention makes partitions day by day; late records are not marked, because all of them are folded.
  await query("alter table usage_records disable trigger user")
  for (let ago = days; ago > 0; ago--) {
    const day = new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
    const next = new Date(Date.now() - (ago - 1) * 86_400_000).toISOString().slice(0, 10)
    await query(`
      create table usage_records_${day.replaceAll("-", "")} partition of usage_records
      for values from ('${day} 00:00:00+00') to ('${next} 00:00:00+00')`)
    await query(`
      insert into usage_records (ref, at, org_id, app_id, key_id, request_id, purpose, model, vendor, in_tokens, out_tokens,
        cache_read_tokens, cache_write_tokens, dims, stop, cost, cache_net_saving, currency, connect_ms, ttfb_ms, idle_ms,
        total_ms)
      select 'req_${ago}_' || n, timestamptz '${day} 00:00:00+00' + n * interval '1 day' / ${perDay + 1}, 'org_' || n % 40,
        'app_' || n % 80, 'key_' || n % 160, 'req_${ago}_' || n, case n % 10 when 0 then 'title' else 'exchange' end,
        'model_' || model, 'vendor_' || model % 3, 1000 + n % 500, 200, 300, 0, '{}',
        case when n % 100 = 1 then 'interrupted' else 'end' end, 0.0042, 0.0001, 'USD', 5, 100 + n % 900, 40, 2000
      from (select n, (n % 160 + n / 160 % 2) % 7 as model from generate_series(1, ${perDay}) n) x`)
  }
  await query("alter table usage_records enable trigger user")
  await query(`update usage_folded set hour = date_trunc('day', now() - interval '${days} days', 'UTC'),
    day = date_trunc('day', now() - interval '${days} days', 'UTC')`)
}
