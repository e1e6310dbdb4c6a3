-- Old nodes: must stop.
-- Replies are kept with the money: what a caller's request id was answered is written by the settlement, in the same
-- commit as the charge, and dropped by the hour.

-- What the tiers took is in columns: as members of dims they were a quarter of the row.
alter table usage_records add column connect_ms integer, add column ttfb_ms integer, add column idle_ms integer,
  add column total_ms integer;

-- The dimensions of a usage record, with its times.
create function usage_dims(u usage_records) returns jsonb language sql immutable as $fn$
  select u.dims || jsonb_strip_nulls(jsonb_build_object('obs_connect_ms', u.connect_ms, 'obs_ttfb_ms', u.ttfb_ms,
    'obs_idle_ms', u.idle_ms, 'obs_total_ms', u.total_ms))
$fn$;

-- When the exchange that spent a request id was settled; its reply, if it is kept, has the same time.
alter table spent_requests add column settled_at timestamptz;

-- Compressed and sealed (`src/money/kept-reply.ts`); the balance is known to the statement only.
create table replies (
  org_id text not null,
  at timestamptz not null,
  ref text not null,
  balance numeric(30, 10) not null,
  reply bytea not null
) partition by range (at);
create index replies_by_org on replies (org_id, at);
create table replies_default partition of replies default;
alter table replies alter column reply set storage external;
alter table replies_default alter column reply set storage external;

-- Settles many exchanges in one commit: usage record, charge, what the node's allotments have spent, the caller's
-- request id and its reply. Settling again changes nothing and tells the balance of the kept reply; what a reaper settled
-- is replaced. Outcomes: settled | duplicate (the request id was spent by another exchange: nothing is billed); the balance
-- is the organisation's. told: the settlement comes late, and the caller was told this balance in this reply.
create or replace function ledger_settle(items json, any_opened boolean)
returns table (item integer, outcome text, balance numeric) language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
begin
  if any_opened then
    perform ledger_close_holds(items);
  end if;
  for r in
  with x as materialized (
    select * from json_to_recordset(items) as x(item integer, node text, org text, ref text, cur text, key text, req text,
      day date, at double precision, cost numeric, app_id text, session_id text, purpose text, model text, vendor text,
      in_tokens bigint, out_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint, dims jsonb,
      connect_ms integer, ttfb_ms integer, idle_ms integer, total_ms integer, estimated_reason text, stop text,
      cache_net_saving numeric, reply text, told numeric)
  ), spent as (
    insert into spent_requests as s (org_id, key_id, request_id, ref, settled_at)
    select org, key, req, ref, to_timestamp(at / 1000) from x where req is not null
    order by 1, 2, 3
    on conflict (org_id, key_id, request_id) do update
      set settled_at = case when s.ref = excluded.ref then excluded.settled_at else s.settled_at end
    returning s.org_id, s.key_id, s.request_id, s.ref
  ), judged as materialized (
    select x.*, s.ref is not null and s.ref <> x.ref as is_duplicate,
      x.in_tokens + x.out_tokens + x.cache_read_tokens + x.cache_write_tokens as tokens
    from x left join spent s on s.org_id = x.org and s.key_id = x.key and s.request_id = x.req
  ), booked as (
    insert into usage_records (ref, at, org_id, app_id, key_id, request_id, session_id, purpose, model, vendor,
      in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, dims, connect_ms, ttfb_ms, idle_ms, total_ms,
      estimated_reason, stop, cost, cache_net_saving, currency)
    select ref, to_timestamp(at / 1000), org, app_id, key, coalesce(req, ref), session_id, purpose, model, vendor,
      in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, dims, connect_ms, ttfb_ms, idle_ms, total_ms,
      estimated_reason, stop, cost, cache_net_saving, cur
    from judged where not is_duplicate
    on conflict do nothing
    returning ref
  ), charge as materialized (
    select * from judged where ref in (select b.ref from booked b)
  ), taken as (
    insert into allotments as a (org_id, counter, node, spent)
    select org, cur, node, sum(cost) from charge group by 1, 2, 3 having sum(cost) <> 0
    union all
    select org, 'tokens:' || day, node, sum(tokens) from charge group by 1, 2, 3 having sum(tokens) <> 0
    order by 1, 2, 3
    on conflict (org_id, counter, node) do update set spent = a.spent + excluded.spent
  ), moved as (
    insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
    select org, cur, 'node:' || node, 'revenue', cost, 'charge', ref from charge where cost > 0
  ), account as materialized (
    select o.org, o.cur, c.funded - c.granted - o.cost + coalesce(
      (select sum(a.granted - a.spent) from allotments a where a.org_id = o.org and a.counter = o.cur), 0) as balance
    from (
      select x.org, x.cur, coalesce(sum(c.cost), 0) as cost
      from x left join charge c on c.item = x.item group by 1, 2) o
    left join counters c on c.org_id = o.org and c.counter = o.cur
  ), kept as (
    insert into replies (org_id, at, ref, balance, reply)
    select c.org, to_timestamp(c.at / 1000), c.ref, coalesce(c.told, a.balance), decode(c.reply, 'base64')
    from charge c join account a on a.org = c.org and a.cur = c.cur
    where c.reply is not null
  )
  select j.item, j.org, j.at, j.ref, j.is_duplicate, a.balance, j.reply, j.told,
    j.reply is not null and not j.is_duplicate and c.item is null as is_again
  from judged j join account a on a.org = j.org and a.cur = j.cur left join charge c on c.item = j.item
  loop
    item := r.item;
    outcome := case when r.is_duplicate then 'duplicate' else 'settled' end;
    balance := r.balance;
    if r.is_again then
      if r.told is not null then
        update replies k set balance = r.told, reply = decode(r.reply, 'base64')
        where k.org_id = r.org and k.at = to_timestamp(r.at / 1000) and k.ref = r.ref;
      end if;
      select coalesce(max(k.balance), r.balance) into balance
      from replies k where k.org_id = r.org and k.at = to_timestamp(r.at / 1000) and k.ref = r.ref;
    end if;
    return next;
  end loop;
end $fn$;

-- What the books know of request ids: whether an exchange has spent one, whether it still runs, and its reply, if it was
-- settled within keep_s seconds.
drop function ledger_spent(json);
create function ledger_spent(items json, keep_s double precision)
returns table (item integer, ref text, running boolean, balance numeric, reply bytea) language plpgsql stable as $fn$
#variable_conflict use_column
declare
  r record;
begin
  for r in
    select x.item, x.org, s.ref, s.settled_at, h.ref is not null as running
    from json_to_recordset(items) as x(item integer, org text, key text, req text)
    left join spent_requests s on s.org_id = x.org and s.key_id = x.key and s.request_id = x.req
    left join holds h on h.org_id = s.org_id and h.ref = s.ref and h.state = 'open'
  loop
    item := r.item;
    ref := r.ref;
    running := r.running;
    balance := null;
    reply := null;
    if r.settled_at > now() - keep_s * interval '1 second' then
      select k.balance, k.reply into balance, reply
      from replies k where k.org_id = r.org and k.at = r.settled_at and k.ref = r.ref;
    end if;
    return next;
  end loop;
end $fn$;

-- Replies by the hour (UTC): makes the hours to come, and drops those that are past keeping. Safe on many nodes.
create function retain_replies(keep_s double precision, ahead_hours integer)
returns integer language plpgsql as $fn$
declare
  h timestamp;
  part record;
  this_hour timestamp := date_trunc('hour', now() at time zone 'UTC');
  oldest timestamptz := now() - keep_s * interval '1 second';
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('weir.retain_replies')) then
    return dropped;
  end if;
  for h in select generate_series(this_hour, this_hour + ahead_hours * interval '1 hour', '1 hour') loop
    if to_regclass('replies_' || to_char(h, 'YYYYMMDDHH24')) is null then
      begin
        execute format('create table %I partition of replies for values from (%L) to (%L)',
          'replies_' || to_char(h, 'YYYYMMDDHH24'), h at time zone 'UTC', (h + interval '1 hour') at time zone 'UTC');
        execute format('alter table %I alter column reply set storage external', 'replies_' || to_char(h, 'YYYYMMDDHH24'));
      exception when check_violation then
        -- The default partition already has replies of this hour; they stay there.
        null;
      end;
    end if;
  end loop;
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'replies'::regclass and c.relname ~ '^replies_\d{10}$'
      and right(c.relname, 10) <= to_char(oldest at time zone 'UTC' - interval '1 hour', 'YYYYMMDDHH24')
  loop
    execute format('drop table %I', part.relname);
    dropped := dropped + 1;
  end loop;
  delete from replies_default where at < oldest;
  return dropped;
end $fn$;

-- Settles what dead nodes left, at its last checkpoint, then takes back their allotments. Nodes may reap at once: each
-- dead node is closed by one of them. Nodes are found through indexes, however many holds and allotments there are.
create or replace function ledger_reap(most integer)
returns table (ref text, outcome text) language plpgsql as $fn$
#variable_conflict use_column
declare
  n record;
  h record;
  gone text[];
  a record;
  u usage_records;
  rest numeric;
  closed integer := 0;
  tokens bigint;
begin
  -- A node that was taken for dead may have written a checkpoint since.
  insert into nodes (id, lease_until)
    select k.id, '-infinity'::timestamptz from (
      with recursive each(id) as (
        select min(o.node) from holds o where o.state = 'open'
        union all
        select (select min(o.node) from holds o where o.state = 'open' and o.node > each.id) from each where id is not null
      ) select id from each) k
    where k.id is not null and not exists (select from nodes where id = k.id)
    on conflict do nothing;
  for n in select id from nodes where lease_until < now() order by id for update skip locked loop
    for h in select * from holds o where o.node = n.id and o.state = 'open' order by o.org_id, o.ref limit most - closed for update
    loop
      closed := closed + 1;
      ref := h.ref;
      if h.usage is null then
        outcome := 'released';
        delete from holds o where o.org_id = h.org_id and o.ref = h.ref;
        delete from spent_requests s
        where s.org_id = h.org_id and s.key_id = h.key_id and s.request_id = h.request_id and s.ref = h.ref;
      else
        outcome := 'settled';
        u := jsonb_populate_record(null::usage_records, h.usage);
        tokens := u.in_tokens + u.out_tokens + u.cache_read_tokens + u.cache_write_tokens;
        -- Never a whole millisecond, as the time of a node's settlement is.
        u.at := date_trunc('milliseconds', now()) + interval '500 microseconds';
        u.ref := h.ref;
        u.org_id := h.org_id;
        u.key_id := h.key_id;
        u.request_id := h.request_id;
        u.source := 'gateway';
        u.cost := h.cost;
        u.currency := h.currency;
        insert into usage_records select u.*;
        update holds o set state = 'reaped', reaped_at = u.at where o.org_id = h.org_id and o.ref = h.ref;
        insert into allotments as t (org_id, counter, node, spent)
        select h.org_id, v.counter, n.id, v.amount
        from (values (h.currency, h.cost), ('tokens:' || h.day, tokens)) as v(counter, amount) where v.amount <> 0
        on conflict (org_id, counter, node) do update set spent = t.spent + excluded.spent;
        insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
        select h.org_id, h.currency, 'node:' || n.id, 'revenue', h.cost, 'charge', h.ref where h.cost > 0;
      end if;
      return next;
    end loop;
    if not exists (select from holds o where o.node = n.id and o.state = 'open') then
      delete from nodes where id = n.id;
    end if;
  end loop;
  -- Of nodes that are gone, and what was charged to one after it was gone.
  gone := array(
    with recursive each(id) as (
      select min(o.node) from allotments o
      union all
      select (select min(o.node) from allotments o where o.node > each.id) from each where id is not null
    ) select id from each where id is not null and not exists (select from nodes k where k.id = each.id));
  for a in select o.org_id, o.counter, o.node from allotments o where o.node = any(gone) order by 1, 2, 3 loop
    insert into counters (org_id, counter) values (a.org_id, a.counter) on conflict do nothing;
    perform 1 from counters k where k.org_id = a.org_id and k.counter = a.counter for update;
    delete from allotments o where o.org_id = a.org_id and o.counter = a.counter and o.node = a.node
      returning o.granted - o.spent into rest;
    if found then
      update counters k set granted = k.granted - rest where k.org_id = a.org_id and k.counter = a.counter;
      perform ledger_move(a.org_id, a.counter, a.node, -rest, a.node);
    end if;
  end loop;
end $fn$;
