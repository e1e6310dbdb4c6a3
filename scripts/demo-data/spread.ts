/**
 * Spreads the calls of a stopped gateway over the last 30 days, in its embedded database: each call keeps its record, its
 * transfers and its reports, all at the new time, so that the books stay consistent. Sums are folded again at the next start.
 */
import { join } from "node:path"
import { PGlite } from "@electric-sql/pglite"

/** The time by which a call moves: more in recent days, fewer at night and on weekends; a seventh stays in the last day. */
const shift = (ref: string) => `demo_shift(${ref})`

const statements = [
  `create function demo_part(ref text, salt text) returns double precision language sql immutable as
    $fn$ select (('x' || substr(md5(ref || salt), 1, 8))::bit(32)::bigint & 2147483647) / 2147483648.0 $fn$`,
  `create function demo_shift(ref text) returns interval language sql stable as $fn$
    with drawn as (
      select case when demo_part(ref, 'a') < 0.14 then 0 else floor(30 * power(demo_part(ref, 'b'), 1.3)) end as days,
        case when demo_part(ref, 'c') < 0.8 then 10 * demo_part(ref, 'd') else 22 * demo_part(ref, 'd') end as hours)
    select case when extract(isodow from now() - days * interval '1 day') > 5 and demo_part(ref, 'e') < 0.7
        then (days + 2) * interval '1 day' else days * interval '1 day' end + hours * interval '1 hour' from drawn $fn$`,
  `update usage_records set at = at - ${shift("ref")} where at > now() - interval '1 hour'`,
  `update transfers set at = at - ${shift("ref")} where kind = 'charge' and at > now() - interval '1 hour'`,
  `update exchange_reports set at = at - ${shift("ref")} where at > now() - interval '1 hour'`,
  // Lists of transfers are in the order of their ids.
  `update transfers t set id = n.place from (
      select id, (select max(id) from transfers) + row_number() over (order by at, id) as place from transfers) n
    where n.id = t.id`,
  "select setval('transfers_id_seq', (select max(id) from transfers))",
  `insert into failure_counts (org_id, at, app_id, key_id, model, code, calls)
    select org_id, date_trunc('hour', at, 'UTC'), app_id, key_id, model, code, count(*) from exchange_reports
    where code is not null and at < now() - interval '1 hour' group by 1, 2, 3, 4, 5, 6 on conflict do nothing`,
  `delete from failure_counts where at > now() - interval '1 hour'`,
  `update usage_folded set hour = date_trunc('day', now() - interval '33 days', 'UTC'),
    day = date_trunc('day', now() - interval '33 days', 'UTC')`,
  "drop function demo_shift(text)",
  "drop function demo_part(text, text)",
]

/** @param folder the data folder */
export const spreadOverMonth = async (folder: string): Promise<void> => {
  const db = await PGlite.create({ dataDir: join(folder, "postgres") })
  try {
    for (const statement of statements) await db.query(statement)
  } finally {
    await db.close()
  }
}
