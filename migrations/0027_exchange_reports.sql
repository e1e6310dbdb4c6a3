-- Old nodes: may run.
-- What usage records do not say: calls that failed, and the vendor calls of exchanges that needed more than one. Never a
-- prompt or an answer.
create table exchange_reports (
  org_id text not null,
  at timestamptz not null,
  ref text not null,
  app_id text not null,
  key_id text not null,
  request_id text,
  session_id text,
  purpose text not null,
  model text not null,
  -- Null where the exchange succeeded.
  code text,
  is_billed boolean not null,
  took_ms integer not null,
  -- The vendor calls that failed, in order: vendor, model, at which millisecond each began, what it took, and its error.
  attempts jsonb not null,
  trace_id text,
  primary key (org_id, at, ref)
);
create index exchange_reports_by_time on exchange_reports (at, ref);

-- Calls that failed, by the minute, and by the hour after two days; all are counted, also those for which no report was
-- kept.
create table failure_counts (
  org_id text not null,
  at timestamptz not null,
  app_id text not null,
  key_id text not null,
  model text not null,
  code text not null,
  calls bigint not null,
  primary key (org_id, at, app_id, key_id, model, code)
);
create index failure_counts_by_time on failure_counts using brin (at);

create function report_exchanges(p_reports json, p_counts json) returns void language plpgsql as $fn$
begin
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

-- Adds up the minutes of hours that are two days old, and removes what is past keeping, at most so many reports; tells
-- how many rows it removed.
create function retain_reports(keep_days integer, most integer) returns integer language plpgsql as $fn$
declare
  oldest timestamptz := now() - keep_days * interval '1 day';
  gone integer;
  removed integer := 0;
begin
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
