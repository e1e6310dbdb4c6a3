-- Sessions: opened by a heartbeat or minted by a client; archived is for ever. last_seen_at is written behind.
create table sessions (
  id text primary key,
  org_id text not null,
  -- The key and, where there is one, the end user that it belongs to.
  caller text not null,
  state text not null default 'active' check (state in ('active', 'archived')),
  opened_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  archived_at timestamptz
);
create index sessions_by_org on sessions (org_id, last_seen_at desc);

-- Personal access tokens and device keys: who may call as an organisation, or as one of its users.
create table access_tokens (
  id text primary key,
  kind text not null check (kind in ('pat', 'device')),
  secret_sha256 bytea not null unique check (length(secret_sha256) = 32),
  org_id text not null,
  -- Null where the token is the organisation's own.
  user_id text,
  scopes text[] not null,
  status text not null default 'active' check (status in ('active', 'revoked')),
  expires_at timestamptz,
  created_at timestamptz not null default now()
);

-- What clients report of calls that did not go through the gateway: never billed, each event once.
create table client_usage_records (
  org_id text not null,
  client_event_id text not null,
  key_id text not null,
  app_id text not null,
  model_handle text not null,
  model_id text not null,
  in_tokens bigint not null,
  out_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  estimated boolean not null,
  occurred_at timestamptz not null,
  session_id text,
  purpose text,
  source text not null default 'client' check (source = 'client'),
  billable integer not null default 0 check (billable = 0),
  cost numeric(30, 10) not null default 0 check (cost = 0),
  recorded_at timestamptz not null default now(),
  primary key (org_id, client_event_id)
);
create index client_usage_records_by_time on client_usage_records (recorded_at);

-- The most sessions that were active at once, by the day (UTC+8) and its hours; folded once a day has ended.
create table plan_usage_days (
  org_id text not null,
  day date not null,
  peak_concurrency integer not null,
  hourly_peaks integer[] not null check (array_length(hourly_peaks, 1) = 24),
  primary key (org_id, day)
);

-- Distinct end users of a month (UTC+8), for plans of the test tier.
create table plan_end_users (
  org_id text not null,
  month text not null,
  end_user_id text not null,
  primary key (org_id, month, end_user_id)
);

-- Counts an end user in, unless the month is full and the plan enforces. Exact when many mint at once.
create function plan_end_user_take(p_org text, p_month text, p_user text, p_limit integer, p_enforces boolean)
returns table (admitted boolean, used integer) language plpgsql as $fn$
begin
  perform pg_advisory_xact_lock(hashtext('weir.plan_end_users'), hashtext(p_org || p_month));
  select count(*)::integer into used from plan_end_users e where e.org_id = p_org and e.month = p_month;
  admitted := exists (
    select 1 from plan_end_users e where e.org_id = p_org and e.month = p_month and e.end_user_id = p_user);
  if not admitted and (used < p_limit or not p_enforces) then
    insert into plan_end_users (org_id, month, end_user_id) values (p_org, p_month, p_user);
    admitted := true;
    used := used + 1;
  end if;
  return next;
end $fn$;

-- What organisations set for their applications; it goes before what the catalogue says.
create sequence app_config_revisions;
create table app_configs (
  app_id text primary key,
  config jsonb not null,
  revision bigint not null default nextval('app_config_revisions'),
  updated_at timestamptz not null default now()
);

-- When a search provider of the catalogue last changed: the directory lists the newest first among equals.
create table search_provider_changes (
  id text primary key,
  fingerprint text not null,
  changed_at timestamptz not null default now()
);

-- What is past keeping: client reports by when they came, sessions by when they were last seen, months of end users.
create function retain_runtime(keep_days integer) returns bigint language plpgsql as $fn$
declare
  oldest timestamptz := now() - make_interval(days => keep_days);
  removed bigint := 0;
  gone bigint;
begin
  delete from client_usage_records where recorded_at < oldest;
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from sessions where last_seen_at < oldest;
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from plan_end_users where month < to_char(oldest at time zone 'UTC', 'YYYY-MM');
  get diagnostics gone = row_count;
  return removed + gone;
end $fn$;
create index sessions_by_time on sessions (last_seen_at);
