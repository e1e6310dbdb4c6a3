-- Old nodes: may run.
-- Request ids that are spent are forgotten some day. Those that carry their time (ULID, UUID version 7) are in a partition of their day,
-- which is dropped as a whole; they stay refused, because they are too old. Others, and those of before, stay where they were.

-- The day of an id that carries its time; null for others. No id was made for a gateway before 2026.
create function request_day(p_id text) returns date language plpgsql immutable as $fn$
declare
  ms bigint := 0;
begin
  if length(p_id) = 26 then
    if p_id !~* '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' then
      return null;
    end if;
    for at in 1..10 loop
      ms := ms * 32 + strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', upper(substr(p_id, at, 1))) - 1;
    end loop;
  elsif length(p_id) = 36 and substr(p_id, 15, 1) = '7' then
    if p_id !~* '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' then
      return null;
    end if;
    ms := ('x' || substr(p_id, 1, 8) || substr(p_id, 10, 4))::bit(48)::bigint;
  else
    return null;
  end if;
  if ms < 1767225600000 or ms >= 4102444800000 then
    return null;
  end if;
  return (timestamp 'epoch' + ms * interval '1 millisecond')::date;
end $fn$;

create table spent_days (
  org_id text not null,
  key_id text not null,
  request_id text not null,
  day date not null,
  ref text not null,
  settled_at timestamptz,
  primary key (org_id, key_id, request_id, day)
) partition by range (day);
create table spent_days_default partition of spent_days default;
create index if not exists spent_requests_by_time on spent_requests using brin (settled_at)
  with (pages_per_range = 16, autosummarize = on);

-- The day in whose partition an id is: ids of days before this migration were spent in the old table.
do $each$ begin
  execute format('create function spent_day(p_id text) returns date language sql immutable as
    $body$ select case when d > %L::date then d end from request_day(p_id) d $body$', (now() at time zone 'UTC')::date + 1);
end $each$;

do $each$
declare
  body text;
begin
  body := pg_get_functiondef('ledger_settle'::regproc);
  body := replace(body, E'    select * from json_to_recordset(items) as x(item integer,', E'    select x.*, spent_day(x.req) as spent_on from json_to_recordset(items) as x(item integer,');
  body := replace(body, E'    select org, key, req, ref, to_timestamp(at / 1000) from x where req is not null\n', E'    select org, key, req, ref, to_timestamp(at / 1000) from x where req is not null and spent_on is null\n');
  body := replace(body, E'    returning s.org_id, s.key_id, s.request_id, s.ref\n  ), judged', E'    returning s.org_id, s.key_id, s.request_id, s.ref
  ), spent_on_days as (
    insert into spent_days as s (org_id, key_id, request_id, day, ref, settled_at)
    select org, key, req, spent_on, ref, to_timestamp(at / 1000) from x where spent_on is not null
    order by 1, 2, 3
    on conflict (org_id, key_id, request_id, day) do update
      set settled_at = case when s.ref = excluded.ref then excluded.settled_at else s.settled_at end
    returning s.org_id, s.key_id, s.request_id, s.ref
  ), judged');
  body := replace(body, E'    from x left join spent s on', E'    from x left join (select * from spent union all select * from spent_on_days) s on');
  execute body;
  body := pg_get_functiondef('ledger_checkpoint'::regproc);
  body := replace(body, E'    select org, key, req, ref from x where first and req is not null order by 1, 2, 3
    on conflict do nothing
    returning org_id, ref
  )', E'    select org, key, req, ref from x where first and req is not null and spent_day(req) is null order by 1, 2, 3
    on conflict do nothing
    returning org_id, ref
  ), fresh_on_days as (
    insert into spent_days (org_id, key_id, request_id, day, ref)
    select org, key, req, spent_day(req), ref from x where first and spent_day(req) is not null order by 1, 2, 3
    on conflict do nothing
    returning org_id, ref
  )');
  body := replace(body, E'from x left join fresh f on', E'from x left join (select * from fresh union all select * from fresh_on_days) f on');
  execute body;
  body := pg_get_functiondef('ledger_reap'::regproc);
  execute replace(body, E'and s.request_id = h.request_id and s.ref = h.ref;', E'and s.request_id = h.request_id and s.ref = h.ref;
        delete from spent_days s
        where s.org_id = h.org_id and s.key_id = h.key_id and s.request_id = h.request_id and s.day = spent_day(h.request_id)
          and s.ref = h.ref;');
  body := pg_get_functiondef('ledger_spent(json, double precision)'::regprocedure);
  execute replace(body, E'    left join spent_requests s on s.org_id = x.org and s.key_id = x.key and s.request_id = x.req\n', E'    left join lateral (
      select q.org_id, q.ref, q.settled_at from spent_requests q
      where q.org_id = x.org and q.key_id = x.key and q.request_id = x.req and spent_day(x.req) is null
      union all
      select q.org_id, q.ref, q.settled_at from spent_days q
      where q.org_id = x.org and q.key_id = x.key and q.request_id = x.req and q.day = spent_day(x.req)) s on true\n');
end $each$;

-- Makes partitions of days ahead, and drops those whose ids are refused as too old.
create function retain_spent_days(keep_days integer, ahead_days integer) returns integer language plpgsql as $fn$
declare
  d date;
  today date := (now() at time zone 'UTC')::date;
  part record;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('weir.retain_spent_days')) then
    return 0;
  end if;
  for d in select generate_series(today, today + ahead_days, '1 day')::date loop
    if to_regclass('spent_days_' || to_char(d, 'YYYYMMDD')) is null then
      begin
        execute format('create table %I partition of spent_days for values from (%L) to (%L)',
          'spent_days_' || to_char(d, 'YYYYMMDD'), d, d + 1);
      exception when check_violation then
        -- The default partition already has ids of this day; they stay there.
        null;
      end;
    end if;
  end loop;
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'spent_days'::regclass and c.relname ~ '^spent_days_\d{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < today - keep_days - 1
  loop
    execute format('drop table %I', part.relname);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $fn$;

-- Forgets ids that carry no time, and those of days that have no partition.
create function retain_spent(keep_days integer, p_most integer) returns bigint language plpgsql as $fn$
declare
  gone bigint;
  stray bigint;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  delete from spent_requests where (org_id, key_id, request_id) in (
    select s.org_id, s.key_id, s.request_id from spent_requests s
    where s.settled_at < now() - make_interval(days => keep_days) limit p_most);
  get diagnostics gone = row_count;
  delete from spent_days where (org_id, key_id, request_id, day) in (
    select s.org_id, s.key_id, s.request_id, s.day from spent_days s
    where s.day < (now() at time zone 'UTC')::date - keep_days - 1 limit p_most);
  get diagnostics stray = row_count;
  return greatest(gone, stray);
end $fn$;
do $each$ begin perform retain_spent_days(90, 3); end $each$;

-- What the books take on the disk, with tables that have no partitions, which were left out, and with those that are new.
create or replace function books_bytes() returns bigint language sql stable as $fn$
  select sum(pg_total_relation_size(i.relid))::bigint
  from unnest(array['counters', 'allotments', 'transfers', 'usage_records', 'usage_late', 'usage_corrections', 'spent_requests',
    'spent_days', 'holds', 'replies', 'jobs', 'job_attempts', 'exchange_reports', 'failure_counts', 'usage_rollups',
    'first_frame_rollups', 'unit_rollups', 'events', 'books_months', 'books_openings']) t(name)
  cross join lateral (
    select t.name::regclass as relid union select p.relid from pg_partition_tree(t.name::regclass) p) i
$fn$;

-- Where the books are spread already, these are placed as the other tables of the books are.
do $spread$ begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    if exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) then
      perform create_distributed_table('spent_days', 'org_id', colocate_with => 'counters');
    end if;
  end if;
end $spread$;
