-- Webhooks and their deliveries.

-- Makes a webhook of an organisation, with its audit record; the log has its address without secrets.
create or replace function org_webhook_make(p_org text, p_id text, p_url text, p_events text[], p_secret text, p_most
  integer, p_actor_type text, p_actor_id text)
returns setof org_webhooks language plpgsql as $fn$
begin
  perform pg_advisory_xact_lock(hashtext('weir.webhooks ' || p_org));
  if (select count(*) from org_webhooks w where w.org_id = p_org) >= p_most then
    return;
  end if;
  perform audit_append('webhook.made', p_org, p_actor_type, p_actor_id,
    jsonb_build_object('webhook', p_id, 'url', address_without_secrets(p_url), 'events', p_events));
  return query insert into org_webhooks (org_id, id, url, events, sealed_secret)
    values (p_org, p_id, p_url, p_events, p_secret) returning *;
end $fn$;

-- Replaces a secret. The former ones stay valid no longer than asked for now, and the newest of them alone where there are many:
-- whoever rotates again because a reply was lost still has the secret of before. Nothing if there is no such webhook.
create or replace function org_webhook_rotate(p_org text, p_id text, p_secret text, p_former_ms double precision, p_most
  integer, p_actor_type text, p_actor_id text)
returns table(id text, url text, events text[], created_at timestamptz, former_until timestamptz) language plpgsql as $fn$
#variable_conflict use_column
declare
  v_until timestamptz := now() + p_former_ms * interval '1 millisecond';
  w org_webhooks;
begin
  select * into w from org_webhooks x where x.org_id = p_org and x.id = p_id for update;
  if not found then
    return;
  end if;
  update org_webhook_former_secrets f set valid_until = least(f.valid_until, v_until)
    where f.org_id = p_org and f.webhook = p_id;
  insert into org_webhook_former_secrets (org_id, webhook, sealed_secret, valid_until)
    values (p_org, p_id, w.sealed_secret, v_until);
  delete from org_webhook_former_secrets f
    where f.org_id = p_org and f.webhook = p_id and (f.valid_until <= now() or f.sealed_secret not in (
      select x.sealed_secret from org_webhook_former_secrets x where x.org_id = p_org and x.webhook = p_id
      order by x.valid_until desc, x.sealed_secret = w.sealed_secret desc limit p_most));
  update org_webhooks x set sealed_secret = p_secret where x.org_id = p_org and x.id = p_id;
  perform audit_append('webhook.rotated', p_org, p_actor_type, p_actor_id, jsonb_build_object('webhook', p_id,
    'formerSecretUntil', to_json(v_until) #>> '{}'));
  return query select w.id, w.url, w.events, w.created_at, case when v_until > now() then v_until end;
end $fn$;

-- Removes a webhook of an organisation, with its audit record.
create or replace function org_webhook_remove(p_org text, p_id text, p_actor_type text, p_actor_id text)
returns boolean language plpgsql as $fn$
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
create or replace function webhooks_fan_out(items jsonb, platform jsonb)
returns void language sql as $fn$
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
create or replace function webhooks_due(platform text[])
returns table(owner text, webhook text) language sql stable as $fn$
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
create or replace function webhook_take(p_owner text, p_webhook text, p_most integer, p_lease_ms double precision)
returns setof webhook_deliveries language sql set enable_seqscan to 'off' set enable_bitmapscan to 'off' set enable_hashjoin
  to 'off' set enable_mergejoin to 'off' set enable_sort to 'off' set jit to 'off' as $fn$
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

-- Stores the outcome of an attempt; nothing if another node has taken the delivery meanwhile.
create or replace function webhook_attempted(p_owner text, p_webhook text, p_event text, p_attempt integer, p_outcome text,
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
create or replace function webhook_resend(p_owner text, p_webhook text, p_event text)
returns setof webhook_deliveries language sql as $fn$
  update webhook_deliveries d set state = 'pending', next_at = now(), gives_up_at = now() + interval '1 day',
    ended_at = null
  where d.owner = p_owner and d.webhook = p_webhook and d.event_id = p_event and d.state <> 'pending'
  returning d.*
$fn$;

-- The address of a receiver without userinfo and without its query, which may have a secret in it.
create or replace function address_without_secrets(p_url text)
returns text language sql immutable as $fn$
  select regexp_replace(regexp_replace(p_url, '[?#].*$', ''), '^([a-z][a-z0-9+.-]*://)[^/@]*@', '\1', 'i')
$fn$;
