-- Overloads for gateways of older versions.

-- Gateways before 0079: a response is made by the call in its id.
create or replace function response_end(p_org text, p_id text, p_state text, p_content bytea, p_object text, p_object_bytes bigint)
returns boolean language sql as $fn$ select response_end(p_org, p_id, p_state, p_content, p_object, p_object_bytes, null) $fn$;
create or replace function responses_renew(p_orgs text[], p_ids text[], p_lease_ms double precision)
returns setof text language sql as $fn$
  select responses_renew(p_orgs, p_ids, array(select response_request(id) from unnest(p_ids) with ordinality as x(id, at) order by at),
    p_lease_ms)
$fn$;

-- Gateways before 0074: the tokens of an answer are not counted.
create or replace function batch_result(p_org text, p_batch text, p_line integer, p_state text, p_content bytea)
returns void language sql as $fn$ select batch_result(p_org, p_batch, p_line, p_state, p_content, 0, 0, 0, 0) $fn$;

-- Gateways before 0068: rows have their contents themselves.
create or replace function response_end(p_org text, p_id text, p_state text, p_content bytea)
returns boolean language sql as $fn$ select response_end(p_org, p_id, p_state, p_content, null, null) $fn$;
create or replace function conversation_add(p_org text, p_id text, p_ids text[], p_contents bytea[], p_erase_at timestamptz,
  p_most_items integer, p_most_bytes bigint)
returns text language sql as $fn$
  select conversation_add(p_org, p_id, p_ids, p_contents, null, null, p_erase_at, p_most_items, p_most_bytes)
$fn$;

-- Gateways before 0059: a key has no limits of its own, and the answer says whether there is a new one.
create or replace function app_key_mint(p_id text, p_app_id text, p_org_id text, p_secret bytea, p_scopes text[],
  p_expires_at timestamptz, p_name text, p_actor_type text, p_actor_id text)
returns boolean language sql as $fn$
  select app_key_mint(p_id, p_app_id, p_org_id, p_secret, p_scopes, p_expires_at, p_name, null, null, p_actor_type, p_actor_id)
    is not null
$fn$;

-- Gateways before 0055: a key has no name.
create or replace function app_key_mint(p_id text, p_app_id text, p_org_id text, p_secret bytea, p_scopes text[],
  p_expires_at timestamptz, p_actor_type text, p_actor_id text)
returns boolean language sql as $fn$
  select app_key_mint(p_id, p_app_id, p_org_id, p_secret, p_scopes, p_expires_at, null, null, null, p_actor_type, p_actor_id)
    is not null
$fn$;

-- Gateways before 0053: the fields of a usage record are among those of its hold.
create or replace function ledger_settle(items json, any_opened boolean, replies bytea)
returns table(item integer, outcome text, balance numeric) language sql as $fn$
  select s.* from (
    select json_agg(x.item::jsonb || jsonb_build_object('usage', x.item::jsonb - 'at') order by x.number) as items
    from json_array_elements(items) with ordinality as x(item, number)
  ) p cross join lateral ledger_settle(p.items, replies, any_opened) s
$fn$;

-- Gateways before 0042.
create or replace function ledger_settle(items json, any_opened boolean)
returns table(item integer, outcome text, balance numeric) language sql as $fn$
  with each as (
    select x.fields, x.at, decode(x.fields->>'reply', 'base64') as reply
    from json_array_elements(items) with ordinality as x(fields, at)
  ), placed as (
    select fields::jsonb - 'reply' as fields, at, coalesce(reply, '') as reply, reply is not null as has_reply,
      1 + sum(length(coalesce(reply, ''))) over (order by at) - length(coalesce(reply, '')) as reply_from
    from each
  ), packed as (
    select json_agg(case when has_reply
        then fields || jsonb_build_object('reply_from', reply_from, 'reply_bytes', length(reply)) else fields end order by at) as items,
      string_agg(reply, '' order by at) as replies
    from placed
  )
  select s.* from packed p cross join lateral ledger_settle(p.items, any_opened, p.replies) s
$fn$;

-- Gateways before 0037.
create or replace function usage_dims(u usage_records)
returns jsonb language sql immutable as $fn$
  select u.dims || jsonb_strip_nulls(jsonb_build_object('obs_connect_ms', u.connect_ms, 'obs_ttfb_ms', u.ttfb_ms,
    'obs_idle_ms', u.idle_ms, 'obs_total_ms', u.total_ms))
$fn$;

-- Gateways before 0037.
create or replace function budgets_warn(items jsonb)
returns table(org text, counter text, percent integer) language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
  reached integer;
  said jsonb;
begin
  for r in
    select x.org, x.counter, x.thresholds, x.warning, k.warned,
      coalesce(k.granted, 0) - coalesce((
        select sum(a.granted - a.spent) from allotments a where a.org_id = x.org and a.counter = x.counter), 0) as used
    from jsonb_to_recordset(items) as x(org text, counter text, thresholds jsonb, warning jsonb)
    join counters k on k.org_id = x.org and k.counter = x.counter
    order by x.org, x.counter
  loop
    select max(t.percent) into reached from jsonb_to_recordset(r.thresholds) as t(percent integer, amount numeric)
      where r.used > 0 and t.amount <= r.used;
    if reached is not null and reached > coalesce(r.warned, 0) then
      said := r.warning || jsonb_build_object('percent', reached, 'used', trim_scale(r.used)::text);
      update counters k set warned = reached, warning = said, warned_at = now(), mail_after = now()
        where k.org_id = r.org and k.counter = r.counter and coalesce(k.warned, 0) < reached;
      if found then
        perform audit_append('budget.near', r.org, 'service', 'gateway', said);
        org := r.org;
        counter := r.counter;
        percent := reached;
        return next;
      end if;
    end if;
  end loop;
end $fn$;
