-- Removal of records that are past keeping, in one shard.

-- Removes records of a shard that are past keeping, at most so many of each.
create or replace function retain_books(keep_days integer)
returns bigint language plpgsql set enable_seqscan to 'off' set jit to 'off' as $fn$
declare
  oldest date := (now() at time zone 'UTC')::date - keep_days;
  removed bigint;
  gone bigint;
begin
  if books_moved() or not pg_try_advisory_xact_lock(hashtext('weir.retain' || books_key())) then
    return 0;
  end if;
  delete from usage_kept;
  insert into usage_kept (since) values (oldest::timestamp at time zone 'UTC');
  delete from holds where state <> 'open' and coalesce(reaped_at, opened_at) < oldest;
  get diagnostics removed = row_count;
  update counters set starts_at = counter_start(counter), ends_at = counter_end(counter)
  where ends_at is null and counter like '%:%';
  delete from counters c
  where c.ends_at < oldest::timestamp at time zone 'UTC'
    and not exists (select from allotments a where a.org_id = c.org_id and a.counter = c.counter);
  get diagnostics gone = row_count;
  return removed + gone;
end $fn$;

-- When the period of a counter began, by the day in its name; null if it has none. For counters whose period no node told: those
-- of nodes before 0054, and those that the reaper made.
create or replace function counter_start(p_counter text)
returns timestamptz language sql stable as $fn$
  select coalesce(to_date(d.match[1], 'YYYY-MM-DD')::timestamp at time zone interval '8 hours', to_timestamp(d.match[2]::float8))
  from regexp_match(p_counter, '^(?:tokens|budget:.*):(?:(\d{4}-\d\d-\d\d)|@(\d+)-\d+)$') as d(match)
$fn$;

-- When it ends; a day of a budget of days: when it has left them, as in Periods. A new period needs its line here: the reaper makes
-- counters without their end. Budgets before 0018 may be of days, weeks or months, and have no period in their name.
create or replace function counter_end(p_counter text)
returns timestamptz language sql stable as $fn$
  select case when p_counter ~ ':@\d+-\d+$' then to_timestamp(substring(p_counter from '(\d+)$')::float8)
      + coalesce(make_interval(hours => substring(p_counter from '^budget:[^:]+:[a-z]+/days(\d+):')::integer * 24 - 23), interval '0')
    else ((counter_start(p_counter) at time zone interval '8 hours') + case
    when p_counter ~ '^tokens:|^budget:[^:]+:[a-z]+/day:' then interval '1 day'
    when p_counter ~ '^budget:[^:]+:[a-z]+/week:' then interval '7 days'
    else interval '1 month' end) at time zone interval '8 hours' end
$fn$;

-- Forgets ids that carry no time, and those of days that have no partition.
create or replace function retain_spent(keep_days integer, p_most integer)
returns bigint language plpgsql as $fn$
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

-- Forgets jobs that ended long ago, some at a time.
create or replace function retain_jobs(keep_days integer, most integer)
returns bigint language sql as $fn$
  select books_moved();
  with old as (
    select org_id, id from jobs where ended_at < now() - keep_days * interval '1 day' limit most
  ), gone as (
    delete from jobs j using old where j.org_id = old.org_id and j.id = old.id returning 1
  )
  select count(*) from gone
$fn$;

-- Forgets attempts that were told of for a week.
create or replace function retain_job_attempts(most integer)
returns bigint language sql as $fn$
  select books_moved();
  with old as (select org_id, ref from job_attempts where at < now() - interval '7 days' limit most),
  gone as (
    delete from job_attempts a using old where a.org_id = old.org_id and a.ref = old.ref returning 1
  )
  select count(*) from gone
$fn$;

-- Adds up the minutes of hours that are two days old, and removes what is past keeping, at most so many reports; tells
-- how many rows it removed.
create or replace function retain_reports(keep_days integer, most integer)
returns integer language plpgsql as $fn$
declare
  oldest timestamptz := now() - keep_days * interval '1 day';
  gone integer;
  removed integer := 0;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  delete from exchange_reports where (at, ref) in (
    select at, ref from exchange_reports where at < oldest order by at limit most);
  get diagnostics removed = row_count;
  with minutes as (
    delete from failure_counts where at < date_trunc('hour', now() - interval '2 days', 'UTC')
      and at >= now() - interval '9 days' and at <> date_trunc('hour', at, 'UTC')
    returning *
  ), hours as (
    select org_id, date_trunc('hour', at, 'UTC') as at, app_id, key_id, model, code, sum(calls) as calls from minutes
    group by 1, 2, 3, 4, 5, 6
  )
  insert into failure_counts as f (org_id, at, app_id, key_id, model, code, calls)
  select org_id, at, app_id, key_id, model, code, calls from hours
  on conflict (org_id, at, app_id, key_id, model, code) do update set calls = f.calls + excluded.calls;
  delete from failure_counts where at < oldest;
  get diagnostics gone = row_count;
  return removed + gone;
end $fn$;

-- Removes hours and days that are past keeping; tells how many rows.
create or replace function retain_rollups(keep_hours_days integer, keep_days integer)
returns integer language plpgsql as $fn$
declare
  removed integer := retain_sums(keep_hours_days, keep_days);
  gone integer;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  delete from unit_rollups where (step = 'hour' and at < now() - keep_hours_days * interval '1 day')
    or (step = 'day' and at < now() - keep_days * interval '1 day');
  get diagnostics gone = row_count;
  return removed + gone;
end $fn$;

-- Removes sums of hours and of days that are past keeping.
create or replace function retain_sums(keep_hours_days integer, keep_days integer)
returns integer language plpgsql as $fn$
declare
  gone integer;
  removed integer := 0;
begin
  delete from usage_rollups where (step = 'hour' and at < now() - keep_hours_days * interval '1 day')
    or (step = 'day' and at < now() - keep_days * interval '1 day');
  get diagnostics removed = row_count;
  delete from first_frame_rollups where (step = 'hour' and at < now() - keep_hours_days * interval '1 day')
    or (step = 'day' and at < now() - keep_days * interval '1 day');
  get diagnostics gone = row_count;
  return removed + gone;
end $fn$;

-- Removes the lists of late records that exports have written.
create or replace function retain_export_lists(keep_days integer, p_most integer)
returns bigint language plpgsql as $fn$
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
