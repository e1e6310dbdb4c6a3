-- Old nodes: may run.
-- Usage by the hour and by the day (UTC), so that long periods are read without their records. An hour is folded when no
-- record can be added to it in the ordinary way; one that is added or removed later marks its hour, which is folded again.

-- Rows of an organisation have all dimensions; those of the whole gateway (org_id '') have no application and no key.
create table usage_rollups (
  step text not null check (step in ('hour', 'day')),
  org_id text not null,
  at timestamptz not null,
  app_id text not null,
  key_id text not null,
  model text not null,
  vendor text not null,
  purpose text not null,
  stop text not null,
  currency text not null,
  exchanges bigint not null,
  estimated bigint not null,
  in_tokens numeric not null,
  out_tokens numeric not null,
  cache_read_tokens numeric not null,
  cache_write_tokens numeric not null,
  cost numeric not null,
  cache_net_saving numeric not null,
  primary key (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, currency)
);

-- Exchanges by the time to their first frame: more than the boundary before, and at most this one.
create table first_frame_rollups (
  step text not null check (step in ('hour', 'day')),
  org_id text not null,
  at timestamptz not null,
  model text not null,
  vendor text not null,
  up_to_ms double precision not null,
  exchanges bigint not null,
  primary key (step, org_id, at, model, vendor, up_to_ms)
);

-- Hours before the first, and days before the second, are folded.
create index usage_rollups_by_time on usage_rollups (step, at);
create index first_frame_rollups_by_time on first_frame_rollups (step, at);

create table usage_folded (hour timestamptz not null, day timestamptz not null);
create unique index usage_folded_is_one_row on usage_folded ((true));
insert into usage_folded select h, date_trunc('day', h, 'UTC')
from (select date_trunc('hour', coalesce(min(at), now()), 'UTC') as h from usage_records) x;

-- Not unique: settlements must not wait for a fold.
create table usage_stale_hours (at timestamptz not null);
create index usage_stale_hours_by_time on usage_stale_hours (at);

create function usage_hour_is_stale() returns trigger language plpgsql as $fn$
begin
  insert into usage_stale_hours (at) values (date_trunc('hour', case tg_op when 'DELETE' then old.at else new.at end, 'UTC'));
  return null;
end $fn$;
create trigger usage_records_come_late after insert on usage_records
  for each row when (new.at < now() - interval '5 minutes') execute function usage_hour_is_stale();
create trigger usage_records_go_late after delete on usage_records
  for each row when (old.at < now() - interval '5 minutes') execute function usage_hour_is_stale();

-- Records come in the order of their times, nearly.
create index usage_records_by_time on usage_records using brin (at) with (pages_per_range = 16, autosummarize = on);

-- What a record's time to the first frame counts for; null where it has none.
create function first_frame_bucket(p_ms integer, p_boundaries double precision[]) returns double precision
language sql immutable as $fn$
  select p_boundaries[least(width_bucket(p_ms - 0.5, p_boundaries) + 1, array_length(p_boundaries, 1))]
$fn$;

-- Folds one hour, whatever was folded of it before.
create function usage_fold_hour(p_hour timestamptz, p_boundaries double precision[]) returns void language plpgsql as $fn$
declare
  until timestamptz := p_hour + interval '1 hour';
begin
  delete from usage_stale_hours where at = p_hour;
  delete from usage_rollups where step = 'hour' and at = p_hour;
  delete from first_frame_rollups where step = 'hour' and at = p_hour;
  insert into usage_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, currency, exchanges,
    estimated, in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, cost, cache_net_saving)
  select 'hour', coalesce(org_id, ''), p_hour, coalesce(app_id, ''), coalesce(key_id, ''), model, vendor, purpose, stop,
    currency, count(*), count(estimated_reason), sum(in_tokens), sum(out_tokens), sum(cache_read_tokens),
    sum(cache_write_tokens), sum(cost), sum(cache_net_saving)
  from usage_records where at >= p_hour and at < until
  group by grouping sets ((org_id, app_id, key_id, model, vendor, purpose, stop, currency),
    (model, vendor, purpose, stop, currency));
  insert into first_frame_rollups (step, org_id, at, model, vendor, up_to_ms, exchanges)
  select 'hour', coalesce(org_id, ''), p_hour, model, vendor, bucket, count(*)
  from (select org_id, model, vendor, first_frame_bucket(ttfb_ms, p_boundaries) as bucket
    from usage_records where at >= p_hour and at < until and ttfb_ms is not null) x
  group by grouping sets ((org_id, model, vendor, bucket), (model, vendor, bucket));
end $fn$;

-- Folds one day from its hours.
create function usage_fold_day(p_day timestamptz) returns void language plpgsql as $fn$
declare
  until timestamptz := p_day + interval '1 day';
begin
  delete from usage_rollups where step = 'day' and at = p_day;
  delete from first_frame_rollups where step = 'day' and at = p_day;
  insert into usage_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, currency, exchanges,
    estimated, in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, cost, cache_net_saving)
  select 'day', org_id, p_day, app_id, key_id, model, vendor, purpose, stop, currency, sum(exchanges), sum(estimated),
    sum(in_tokens), sum(out_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cost), sum(cache_net_saving)
  from usage_rollups where step = 'hour' and at >= p_day and at < until
  group by org_id, app_id, key_id, model, vendor, purpose, stop, currency;
  insert into first_frame_rollups (step, org_id, at, model, vendor, up_to_ms, exchanges)
  select 'day', org_id, p_day, model, vendor, up_to_ms, sum(exchanges)
  from first_frame_rollups where step = 'hour' and at >= p_day and at < until group by org_id, model, vendor, up_to_ms;
end $fn$;

-- Folds hours that have ended, at most so many, then those that have changed since; tells how many. One node at a time.
create function usage_fold(most integer, p_boundaries double precision[]) returns integer language plpgsql as $fn$
declare
  folded usage_folded;
  done integer := 0;
  h timestamptz;
  d timestamptz;
  kept_since timestamptz;
begin
  if not pg_try_advisory_xact_lock(hashtext('weir.usage_fold')) then
    return 0;
  end if;
  select * into folded from usage_folded;
  -- A record that is added to an hour ten minutes after its end marks it.
  while done < most and folded.hour + interval '1 hour 10 minutes' <= now() loop
    perform usage_fold_hour(folded.hour, p_boundaries);
    folded.hour := folded.hour + interval '1 hour';
    if folded.hour = folded.day + interval '1 day' then
      perform usage_fold_day(folded.day);
      folded.day := folded.hour;
    end if;
    done := done + 1;
  end loop;
  update usage_folded set hour = folded.hour, day = folded.day where done > 0;
  -- Of hours whose records were dropped, what was folded stays.
  select max(since) into kept_since from usage_kept;
  delete from usage_stale_hours where at < kept_since;
  for h in select distinct s.at from usage_stale_hours s where s.at < folded.hour order by 1 limit most - done loop
    perform usage_fold_hour(h, p_boundaries);
    d := date_trunc('day', h, 'UTC');
    if d < folded.day then
      perform usage_fold_day(d);
    end if;
    done := done + 1;
  end loop;
  return done;
end $fn$;

-- Removes hours and days that are past keeping; tells how many rows.
create function retain_rollups(keep_hours_days integer, keep_days integer) returns integer language plpgsql as $fn$
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
