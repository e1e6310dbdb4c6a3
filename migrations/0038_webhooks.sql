-- Old nodes: may run.
-- What is told to others. An event is written in the commit of what happened, where it happened: in the shard of its
-- organisation. A node moves it to the deliveries, one for each webhook that asked for it, and removes it.
create table events (
  -- books_key() where it is no organisation's.
  org_id text not null,
  id text not null,
  type text not null,
  -- Events of one subject are delivered in their order.
  subject text not null,
  data jsonb not null,
  at timestamptz not null,
  -- Their order, at one place of the books: clocks are too coarse for it.
  place bigint not null,
  primary key (org_id, id)
);
create index events_by_place on events (place);

-- Runs in the shard, and beside it: Citus places the row by the organisation.
create function event_append(p_org text, p_type text, p_subject text, p_data jsonb) returns void
language plpgsql as $fn$
declare
  owner text := coalesce(p_org, books_key());
  event_id text := 'evt_' || replace(gen_random_uuid()::text, '-', '');
  happened_at timestamptz := clock_timestamp();
  next_place bigint := next_transfer_id();
begin
  insert into events (org_id, id, type, subject, data, at, place)
  values (owner, event_id, p_type, p_subject, p_data, happened_at, next_place);
end $fn$;

-- The oldest events of a shard, and their removal.
create function events_oldest(p_most integer)
returns table (org_id text, id text, type text, subject text, data jsonb, at timestamptz) language sql stable as $fn$
  select e.org_id, e.id, e.type, e.subject, e.data, e.at from events e order by e.place, e.id limit p_most
$fn$;
create function events_remove(items jsonb) returns void language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  delete from events e using jsonb_to_recordset(items) as x(org_id text, id text)
  where e.org_id = x.org_id and e.id = x.id;
end $fn$;

-- Webhooks of organisations; those of the platform are in the catalogue.
create table org_webhooks (
  org_id text not null,
  id text not null,
  url text not null,
  events text[] not null,
  sealed_secret text not null,
  created_at timestamptz not null default now(),
  primary key (org_id, id)
);

-- Undefined if the organisation has as many as it may have.
create function org_webhook_make(p_org text, p_id text, p_url text, p_events text[], p_secret text, p_most integer,
  p_actor_type text, p_actor_id text)
returns setof org_webhooks language plpgsql as $fn$
begin
  perform pg_advisory_xact_lock(hashtext('weir.webhooks ' || p_org));
  if (select count(*) from org_webhooks w where w.org_id = p_org) >= p_most then
    return;
  end if;
  perform audit_append('webhook.made', p_org, p_actor_type, p_actor_id,
    jsonb_build_object('webhook', p_id, 'url', p_url, 'events', p_events));
  return query insert into org_webhooks (org_id, id, url, events, sealed_secret)
    values (p_org, p_id, p_url, p_events, p_secret) returning *;
end $fn$;

create table webhook_deliveries (
  -- The organisation whose webhook it is; empty for the platform's.
  owner text not null,
  webhook text not null,
  event_id text not null,
  seq bigint generated always as identity,
  type text not null,
  -- The organisation of the event; empty if it is no organisation's.
  org_id text not null,
  subject text not null,
  data jsonb not null,
  at timestamptz not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- When it is sent next; while it is being sent, when another node may send it.
  next_at timestamptz not null default now(),
  gives_up_at timestamptz not null default now() + interval '1 day',
  -- What the last attempt came to.
  status integer,
  problem text,
  ended_at timestamptz,
  primary key (owner, webhook, event_id)
);
create index webhook_deliveries_due on webhook_deliveries (owner, webhook, next_at) where state = 'pending';
create index webhook_deliveries_oldest on webhook_deliveries (owner, webhook, seq) where state = 'pending';
create index webhook_deliveries_in_order on webhook_deliveries (owner, webhook, org_id, subject, seq) where state = 'pending';
create index webhook_deliveries_newest on webhook_deliveries (seq desc);
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where state <> 'pending';

create function org_webhook_remove(p_org text, p_id text, p_actor_type text, p_actor_id text) returns boolean
language plpgsql as $fn$
begin
  delete from org_webhooks where org_id = p_org and id = p_id;
  if not found then
    return false;
  end if;
  delete from webhook_deliveries where owner = p_org and webhook = p_id;
  perform audit_append('webhook.removed', p_org, p_actor_type, p_actor_id, jsonb_build_object('webhook', p_id));
  return true;
end $fn$;

-- Adds the deliveries of events: to webhooks of the platform, which the node knows, and to those of organisations.
-- Adding them again changes nothing. Items are numbered in their order.
create function webhooks_fan_out(items jsonb, platform jsonb) returns void language sql as $fn$
  insert into webhook_deliveries (owner, webhook, event_id, type, org_id, subject, data, at)
  select w.owner, w.webhook, e.id, e.type, e.org_id, e.subject, e.data, e.at
  from jsonb_to_recordset(items) as e(item integer, org_id text, id text, type text, subject text, data jsonb, at timestamptz)
  cross join lateral (
    select '' as owner, p.id as webhook from jsonb_to_recordset(platform) as p(id text, events jsonb) where p.events ? e.type
    union all
    select o.org_id, o.id from org_webhooks o where o.org_id = e.org_id and e.org_id <> '' and e.type = any(o.events)) w
  order by e.item
  on conflict do nothing
$fn$;

-- Webhooks that have something to send now: from one to the next, however much each has. Of the platform's only those that
-- the node knows.
create function webhooks_due(platform text[]) returns table (owner text, webhook text) language sql stable as $fn$
  with recursive pending as (
    (select d.owner, d.webhook from webhook_deliveries d where d.state = 'pending' order by 1, 2 limit 1)
    union all
    select n.owner, n.webhook
    from pending p cross join lateral (
      select d.owner, d.webhook from webhook_deliveries d
      where d.state = 'pending' and (d.owner, d.webhook) > (p.owner, p.webhook) order by 1, 2 limit 1) n
  )
  select p.owner, p.webhook from pending p
  where (p.owner <> '' or p.webhook = any(platform)) and exists (
    select from webhook_deliveries d
    where d.owner = p.owner and d.webhook = p.webhook and d.state = 'pending' and d.next_at <= now())
$fn$;

-- Deliveries of a webhook to send now: of each subject the first. By its indexes, also where a backlog came so fast that
-- the planner knows of no rows.
create function webhook_take(p_owner text, p_webhook text, p_most integer, p_lease_ms double precision)
returns setof webhook_deliveries language sql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
set jit = off as $fn$
  update webhook_deliveries t set attempts = t.attempts + 1, next_at = now() + p_lease_ms * interval '1 millisecond'
  where (t.owner, t.webhook, t.event_id) in (
    select d.owner, d.webhook, d.event_id from webhook_deliveries d
    where d.owner = p_owner and d.webhook = p_webhook and d.state = 'pending' and d.next_at <= now()
      and d.seq = (
        select b.seq from webhook_deliveries b
        where b.owner = d.owner and b.webhook = d.webhook and b.org_id = d.org_id and b.subject = d.subject
          and b.state = 'pending'
        order by b.owner, b.webhook, b.org_id, b.subject, b.seq limit 1)
    order by d.seq limit p_most for update skip locked)
  returning t.*
$fn$;

-- What an attempt came to; nothing if another node has taken the delivery meanwhile.
create function webhook_attempted(p_owner text, p_webhook text, p_event text, p_attempt integer, p_outcome text,
  p_status integer, p_problem text, p_again_ms double precision)
returns text language sql as $fn$
  -- Found by its key, whatever the planner knows of what is pending.
  with found as materialized (
    select k.ctid, k.state, k.attempts, case
        when p_outcome = 'again' and now() + p_again_ms * interval '1 millisecond' <= k.gives_up_at then 'pending'
        when p_outcome = 'delivered' then 'delivered' else 'failed' end as becomes
    from webhook_deliveries k where k.owner = p_owner and k.webhook = p_webhook and k.event_id = p_event for update
  )
  update webhook_deliveries d
  set state = f.becomes, status = p_status, problem = p_problem, next_at = now() + p_again_ms * interval '1 millisecond',
    ended_at = case when f.becomes = 'pending' then null else now() end
  from found f where d.ctid = f.ctid and f.state = 'pending' and f.attempts = p_attempt
  returning d.state
$fn$;

-- Sends a delivery again, with the same id.
create function webhook_resend(p_owner text, p_webhook text, p_event text) returns setof webhook_deliveries
language sql as $fn$
  update webhook_deliveries d set state = 'pending', next_at = now(), gives_up_at = now() + interval '1 day',
    ended_at = null
  where d.owner = p_owner and d.webhook = p_webhook and d.event_id = p_event and d.state <> 'pending'
  returning d.*
$fn$;

-- Forgets deliveries that have ended, and gives up those of webhooks that no node knows.
create function retain_deliveries(keep_days integer, p_most integer) returns bigint language plpgsql as $fn$
declare
  gone bigint;
begin
  update webhook_deliveries set state = 'failed', ended_at = now(), problem = coalesce(problem, 'the webhook is gone')
  where state = 'pending' and gives_up_at < now() - interval '1 hour' and next_at < now();
  delete from webhook_deliveries where (owner, webhook, event_id) in (
    select d.owner, d.webhook, d.event_id from webhook_deliveries d
    where d.state <> 'pending' and d.ended_at < now() - make_interval(days => keep_days) order by d.ended_at limit p_most);
  get diagnostics gone = row_count;
  return gone;
end $fn$;

-- As before; an entry that is an event too is told.
create or replace function audit_append(p_action text, p_org_id text, p_actor_type text, p_actor_id text, p_detail jsonb)
returns void language plpgsql as $fn$
declare
  head audit_head;
  entry audit_log;
begin
  select * into head from audit_head for update;
  entry.seq := head.seq + 1;
  entry.at := clock_timestamp();
  entry.action := p_action;
  entry.org_id := p_org_id;
  entry.actor_type := p_actor_type;
  entry.actor_id := p_actor_id;
  entry.detail := p_detail;
  entry.hash := audit_hash(head.hash, entry);
  insert into audit_log select entry.*;
  update audit_head set seq = entry.seq, hash = entry.hash;
  case p_action
    when 'key.minted' then perform event_append(p_org_id, 'key.created', p_detail ->> 'key', p_detail);
    when 'key.revoked' then perform event_append(p_org_id, 'key.revoked', p_detail ->> 'key', p_detail);
    when 'catalogue.applied' then perform event_append(p_org_id, 'catalogue.applied', 'catalogue', p_detail);
    when 'budget.near' then
      perform event_append(p_org_id, case when p_detail ->> 'percent' = '100' then 'budget.reached' else 'budget.near' end,
        p_detail ->> 'id', p_detail);
    else null;
  end case;
end $fn$;

-- A budget is used up that has no threshold there: nobody is warned, but it is told, once.
create function budget_reached(p_org text, p_counter text, p_state jsonb) returns void language plpgsql as $fn$
begin
  update counters set warned = 100 where org_id = p_org and counter = p_counter and coalesce(warned, 0) < 100;
  if found then
    perform event_append(p_org, 'budget.reached', p_state ->> 'id', p_state);
  end if;
end $fn$;

-- Balances that have become low, or are not low any more: items are {org, currency, below}.
create function balances_changed(items jsonb)
returns table (org text, currency text, below numeric, balance numeric, is_low boolean) language sql stable as $fn$
  select k.org, k.currency, k.below, k.balance, k.balance < k.below
  from (
    select x.org, x.currency, x.below, ledger_balance(x.org, x.currency) as balance, c.warned is not null as was_low
    from jsonb_to_recordset(items) as x(org text, currency text, below numeric)
    join counters c on c.org_id = x.org and c.counter = x.currency) k
  where (k.balance < k.below) <> k.was_low
$fn$;
-- Writes it down, and tells that it is low; once, until it was not low.
create function balance_turned(p_org text, p_currency text, p_is_low boolean, p_state jsonb) returns void
language plpgsql as $fn$
begin
  update counters set warned = case when p_is_low then 100 end
  where org_id = p_org and counter = p_currency and (warned is not null) <> p_is_low;
  if found and p_is_low then
    perform event_append(p_org, 'balance.low', p_currency, p_state);
  end if;
end $fn$;

-- Targets whose breaker is open at some node. One that was not closed for an hour counts as closed: its node is gone.
create table target_states (
  target text primary key,
  is_down boolean not null,
  changed_at timestamptz not null default now()
);
create function target_turned(p_target text, p_is_down boolean) returns void language plpgsql as $fn$
begin
  insert into target_states as t (target, is_down) values (p_target, p_is_down)
  on conflict (target) do update set is_down = excluded.is_down, changed_at = now()
    where t.is_down <> excluded.is_down or (t.is_down and t.changed_at < now() - interval '1 hour');
  if found then
    perform event_append(null, case when p_is_down then 'target.down' else 'target.up' end, p_target,
      jsonb_build_object('target', p_target));
  end if;
end $fn$;

-- Webhooks of an organisation go with its budgets.
do $each$ begin
  execute replace(pg_get_functiondef('retain_tenants'::regproc), E'\n      delete from org_budgets where org_id = t.id;', E'
      delete from org_budgets where org_id = t.id;
      delete from org_webhooks where org_id = t.id;');
end $each$;

-- The end of a job is told.
do $each$ begin
  execute replace(pg_get_functiondef('job_end'::regproc), E'\n  return true;', E'
  perform event_append(p_org, ''job.done'', p_id, jsonb_strip_nulls(jsonb_build_object(''job'', p_id, ''status'', p_state,
    ''error'', p_error, ''kind'', j.kind, ''model'', j.model, ''appId'', j.app_id, ''requestId'', j.request_id,
    ''cost'', case when p_state = ''done'' then trim_scale(j.held - rest)::text end, ''currency'', j.currency)));
  return true;');
end $each$;

-- What the books take on the disk, with events.
create or replace function books_bytes() returns bigint language sql stable as $fn$
  select sum(pg_total_relation_size(i.relid))::bigint
  from unnest(array['counters', 'allotments', 'transfers', 'usage_records', 'spent_requests', 'holds', 'replies', 'jobs',
    'job_attempts', 'exchange_reports', 'failure_counts', 'usage_rollups', 'first_frame_rollups', 'unit_rollups',
    'events']) t(name)
  cross join lateral pg_partition_tree(t.name::regclass) i
$fn$;

-- Where the books are spread already, events are placed as the other tables of the books are.
do $spread$ begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    if exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) then
      perform create_distributed_table('events', 'org_id', colocate_with => 'counters');
    end if;
  end if;
end $spread$;
