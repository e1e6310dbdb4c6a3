-- Old nodes: may run.
-- Records leave the gateway in files. What is in which file is told by the record's place: a number that grows, given when the
-- record is written. A file has the records of a window of places, and a window is closed when nothing can be added to it.

-- As before; by its name, which costs less than asking for it. Where the books are spread, it is another function.
do $each$ begin
  if pg_get_functiondef('next_transfer_id'::regproc) like '%pg_get_serial_sequence%' then
    execute 'create or replace function next_transfer_id() returns bigint language sql volatile as
      ''select nextval(''''transfers_id_seq'''')''';
  end if;
end $each$;

-- Null in records from before.
alter table usage_records add column place bigint;

-- Records whose time is not near the time at which they were written: a window is read by time, and these by this list.
create table usage_late (
  org_id text not null,
  place bigint not null,
  at timestamptz not null,
  ref text not null,
  came_at timestamptz not null default now(),
  primary key (org_id, place)
);
create index usage_late_by_place on usage_late (place);

-- Records that were taken back, as they were: an export has them, and then a correction.
create table usage_corrections (
  org_id text not null,
  place bigint not null,
  at timestamptz not null default now(),
  undone_place bigint,
  record jsonb not null,
  primary key (org_id, place)
);
create index usage_corrections_by_place on usage_corrections (place);
create index usage_corrections_by_undone on usage_corrections (undone_place);

-- Each settlement has the number of its transaction before its records have their places; see `books_now`.
do $each$
declare
  body text;
begin
  body := pg_get_functiondef('ledger_settle'::regproc);
  body := replace(body, E'\n  if any_opened then', E'\n  perform pg_current_xact_id();\n  if any_opened then');
  body := replace(body, E'      estimated_reason, stop, cost, cache_net_saving, currency)\n', E'      estimated_reason, stop, cost, cache_net_saving, currency, place)\n');
  body := replace(body, E'      estimated_reason, stop, cost, cache_net_saving, cur\n', E'      estimated_reason, stop, cost, cache_net_saving, cur, next_transfer_id()\n');
  body := replace(body, E'    on conflict do nothing\n    returning ref\n  ), begun as (', E'    on conflict do nothing
    returning org_id, ref, at, place
  ), unpunctual as (
    insert into usage_late (org_id, place, at, ref)
    select b.org_id, b.place, b.at, b.ref from booked b
    where b.at < clock_timestamp() - interval ''15 seconds'' or b.at > now() + interval ''15 seconds''
  ), begun as (');
  execute body;
  body := pg_get_functiondef('ledger_reap'::regproc);
  execute replace(body, E'\n        insert into usage_records select u.*;', E'\n        u.place := next_transfer_id();\n        insert into usage_records select u.*;');
  body := pg_get_functiondef('job_end'::regproc);
  body := replace(body, 'dims, stop, cost, cache_net_saving, currency)', 'dims, stop, cost, cache_net_saving, currency, place)');
  execute replace(body, E'j.held - rest, 0, j.currency);\n  end if;\n  if rest', E'j.held - rest, 0, j.currency, next_transfer_id());\n  end if;\n  if rest');
  body := pg_get_functiondef('ledger_close_holds'::regproc);
  body := replace(body, 'returning u.at, u.cost,', 'returning u.*,');
  execute replace(body, E'      ), late as (', E'      ), noted as (
        insert into usage_corrections (org_id, place, undone_place, record)
        select d.org_id, next_transfer_id(), d.place, to_jsonb(d) - ''tokens'' from undone d
      ), late as (');
end $each$;

-- A place that no record has reached; those that are written later have higher ones, and were written after `since`.
create function books_now() returns table (place bigint, since timestamptz) language plpgsql as $fn$
begin
  since := clock_timestamp();
  place := next_transfer_id();
  return next;
end $fn$;

-- How far an export has come with its records, in each shard.
create table export_positions (
  export text not null,
  records text not null,
  shard text not null,
  -- Records with lower places, and with a time before `at`, are in files or were there before the export.
  place bigint not null,
  at timestamptz not null,
  started_place bigint not null,
  started_at timestamptz not null,
  -- Whether the catalogue has the export.
  is_active boolean not null default true,
  -- When the next window is closed, or what failed is tried again.
  next_at timestamptz not null default now(),
  -- Who writes now.
  lease_node text,
  lease_until timestamptz,
  failures integer not null default 0,
  problem text,
  primary key (export, records, shard)
);

-- What was written, or is to be written: the records of a window of places, or of an hour before the export was started.
create table export_windows (
  export text not null,
  records text not null,
  shard text not null,
  name text not null,
  from_place bigint not null,
  until_place bigint not null,
  from_at timestamptz not null,
  until_at timestamptz not null,
  is_hour boolean not null default false,
  format text not null,
  files integer,
  rows bigint,
  landed_at timestamptz,
  primary key (export, records, shard, name)
);
create index export_windows_open on export_windows (export, records, shard, from_place) where landed_at is null;
create index export_windows_by_time on export_windows (export, records, until_at);

-- Windows of transfers are read by time.
create index if not exists transfers_by_time on transfers using brin (at) with (pages_per_range = 16, autosummarize = on);

-- Days of usage records are kept until each export has them.
do $each$ begin
  execute replace(pg_get_functiondef('retain'::regproc), E'\n  oldest_at timestamptz := oldest;', E'
  oldest_at timestamptz;') ;
  execute replace(pg_get_functiondef('retain'::regproc), E'\n  made := 0;', E'
  oldest := least(oldest, (
    select min(p.at at time zone ''UTC'')::date - 1 from export_positions p where p.records = ''usage'' and p.is_active));
  oldest_at := oldest::timestamp at time zone ''UTC'';
  made := 0;');
end $each$;

-- Forgets windows that can be written no more, because their records are gone, and lists for windows that have landed.
create function retain_exports(keep_days integer, p_most integer) returns bigint language sql as $fn$
  with gone as (
    delete from export_windows where (export, records, shard, name) in (
      select w.export, w.records, w.shard, w.name from export_windows w
      where w.landed_at is not null and w.until_at < now() - make_interval(days => keep_days) limit p_most)
    returning 1)
  select count(*) from gone
$fn$;
create function retain_export_lists(keep_days integer, p_most integer) returns bigint language plpgsql as $fn$
declare
  late bigint;
  corrected bigint;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  delete from usage_late where (org_id, place) in (
    select l.org_id, l.place from usage_late l where l.came_at < now() - make_interval(days => keep_days) limit p_most);
  get diagnostics late = row_count;
  delete from usage_corrections where (org_id, place) in (
    select c.org_id, c.place from usage_corrections c where c.at < now() - make_interval(days => keep_days) limit p_most);
  get diagnostics corrected = row_count;
  return greatest(late, corrected);
end $fn$;

-- Where the books are spread already, these are placed as the other tables of the books are.
do $spread$ begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    if exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) then
      perform create_distributed_table('usage_late', 'org_id', colocate_with => 'counters');
      perform create_distributed_table('usage_corrections', 'org_id', colocate_with => 'counters');
    end if;
  end if;
end $spread$;
