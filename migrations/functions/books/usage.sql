-- Sums of usage, by the hour and by the day.

-- Folds hours that have ended, at most so many, then those that have changed since; tells how many. One node at a time.
create or replace function usage_fold(most integer, p_boundaries double precision[])
returns integer language plpgsql as $fn$
declare
  folded usage_folded;
  done integer := 0;
  h timestamptz;
  d timestamptz;
  kept_since timestamptz;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
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

-- Adds up the usage records of an hour.
create or replace function usage_fold_hour(p_hour timestamptz, p_boundaries double precision[])
returns void language plpgsql as $fn$
begin
  perform usage_fold_sums_of_hour(p_hour, p_boundaries);
  delete from unit_rollups where step = 'hour' and at = p_hour;
  insert into unit_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, unit, amount)
  select 'hour', coalesce(org_id, books_key()), p_hour, coalesce(app_id, ''), coalesce(key_id, ''), model, vendor, purpose,
    stop, d.key, sum(d.value::numeric)
  from usage_records cross join lateral jsonb_each_text(dims) d
  where at >= p_hour and at < p_hour + interval '1 hour'
  group by grouping sets ((org_id, app_id, key_id, model, vendor, purpose, stop, d.key),
    (model, vendor, purpose, stop, d.key));
end $fn$;

-- Adds up the units and the times to the first frame of an hour.
create or replace function usage_fold_sums_of_hour(p_hour timestamptz, p_boundaries double precision[])
returns void language plpgsql as $fn$
declare
  until timestamptz := p_hour + interval '1 hour';
begin
  delete from usage_stale_hours where at = p_hour;
  delete from usage_rollups where step = 'hour' and at = p_hour;
  delete from first_frame_rollups where step = 'hour' and at = p_hour;
  insert into usage_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, currency, exchanges,
    estimated, in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, cost, cache_net_saving)
  select 'hour', coalesce(org_id, books_key()), p_hour, coalesce(app_id, ''), coalesce(key_id, ''), model, vendor, purpose,
    stop, currency, count(*), count(estimated_reason), sum(in_tokens), sum(out_tokens), sum(cache_read_tokens),
    sum(cache_write_tokens), sum(cost), sum(cache_net_saving)
  from usage_records where at >= p_hour and at < until
  group by grouping sets ((org_id, app_id, key_id, model, vendor, purpose, stop, currency),
    (model, vendor, purpose, stop, currency));
  insert into first_frame_rollups (step, org_id, at, model, vendor, up_to_ms, exchanges)
  select 'hour', coalesce(org_id, books_key()), p_hour, model, vendor, bucket, count(*)
  from (select org_id, model, vendor, first_frame_bucket(ttfb_ms, p_boundaries) as bucket
    from usage_records where at >= p_hour and at < until and ttfb_ms is not null) x
  group by grouping sets ((org_id, model, vendor, bucket), (model, vendor, bucket));
end $fn$;

-- Folds one day from its hours.
create or replace function usage_fold_day(p_day timestamptz)
returns void language plpgsql as $fn$
begin
  perform usage_fold_sums_of_day(p_day);
  delete from unit_rollups where step = 'day' and at = p_day;
  insert into unit_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, unit, amount)
  select 'day', org_id, p_day, app_id, key_id, model, vendor, purpose, stop, unit, sum(amount)
  from unit_rollups where step = 'hour' and at >= p_day and at < p_day + interval '1 day'
  group by org_id, app_id, key_id, model, vendor, purpose, stop, unit;
end $fn$;

-- Adds up the units and the times to the first frame of a day, from its hours.
create or replace function usage_fold_sums_of_day(p_day timestamptz)
returns void language plpgsql as $fn$
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

-- Stores what clients reported of their exchanges, and counts failures by the minute.
create or replace function report_exchanges(p_reports json, p_counts json)
returns void language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  insert into exchange_reports (org_id, at, ref, app_id, key_id, request_id, session_id, purpose, model, code, is_billed,
    took_ms, attempts, trace_id)
  select org, to_timestamp(at / 1000), ref, app, key, req, session, purpose, model, code, billed, took, attempts, trace
  from json_to_recordset(p_reports) as x(org text, at double precision, ref text, app text, key text, req text,
    session text, purpose text, model text, code text, billed boolean, took integer, attempts jsonb, trace text)
  on conflict do nothing;
  insert into failure_counts as f (org_id, at, app_id, key_id, model, code, calls)
  select org, date_trunc('minute', to_timestamp(at / 1000)), app, key, model, code, sum(calls)
  from json_to_recordset(p_counts) as x(org text, at double precision, app text, key text, model text, code text,
    calls bigint)
  group by 1, 2, 3, 4, 5, 6
  order by 1, 2, 3, 4, 5, 6
  on conflict (org_id, at, app_id, key_id, model, code) do update set calls = f.calls + excluded.calls;
end $fn$;
