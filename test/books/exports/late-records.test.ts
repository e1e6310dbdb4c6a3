/** Records that came late, or were taken back, in exports of a gateway that runs. */
import { expect, it } from "vitest"
import { eventually, run, useExports } from "../../support/use-exports.ts"

const { ids, gateway, ask, parquet, exportedRefs } = useExports()

it("exports have a record that came late, and one that was taken back with its correction", async () => {
  const { sql } = gateway()
  // Not in the statements that write: where the books are spread, those run on other servers, which have no such function.
  const nextPlace = async () => (await run(sql<{ place: bigint }>`select next_transfer_id() as place`))[0]?.place
  // A settlement that was kept in a journal for two days writes such a record.
  const place = String(await nextPlace())
  await run(sql`
      with late as (
        insert into usage_records (ref, at, org_id, app_id, key_id, request_id, purpose, model, vendor, in_tokens, out_tokens,
          cache_read_tokens, cache_write_tokens, dims, stop, cost, cache_net_saving, currency, place)
        values ('late', now() - interval '2 days', ${ids.org}, 'a', 'k', 'r', 'chat', 'm', 'v', 1, 2, 3, 4, '{"x": 5}', 'end', 0.5, 0,
          'USD', ${place}::bigint)
        returning org_id, place, at, ref)
      insert into usage_late (org_id, place, at, ref) select org_id, place, at, ref from late`)
  await eventually(async () => (await exportedRefs()).includes("late"))
  const correctedAt = String(await nextPlace())
  await run(sql`
      with gone as (delete from usage_records where org_id = ${ids.org} and ref = 'late' returning *)
      insert into usage_corrections (org_id, place, undone_place, record)
      select org_id, ${correctedAt}::bigint, place, to_jsonb(gone) from gone`)
  const rows = () =>
    ask(`
        select record, exchanges::int as n, cost::varchar as cost, dims::varchar as dims, in_tokens::int as t,
          epoch(now()) - epoch("at") > 86400 as old
        from ${parquet("usage")} where org_id = '${ids.org}' and ref = 'late' order by 1`)
  await eventually(async () => (await rows()).length > 1)
  expect(await rows()).toEqual([
    { record: "correction", n: -1, cost: "-0.5000000000", dims: '{"x": -5}', t: -1, old: false },
    { record: "usage", n: 1, cost: "0.5000000000", dims: '{"x": 5}', t: 1, old: true },
  ])
}, 240_000)
