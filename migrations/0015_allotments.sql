-- Old nodes: must stop.
-- The ledger, second design. Money is moved from an organisation's account to nodes ahead of need; a node holds
-- against its allotment in memory, and charges it when an exchange ends. What an organisation may spend is a list of
-- counters: one for each currency, and one for the tokens of each day. Every hot table's key begins with the organisation.

-- Nodes that may have allotments. A node renews its lease; whoever finds it run out settles what the node left.
create table nodes (
  id text primary key,
  lease_until timestamptz not null,
  started_at timestamptz not null default now()
);

-- funded is what was paid in (a day of tokens has a limit instead, which comes with each request); granted is what
-- nodes were given and have not given back, spent or not. Available is the difference.
create table counters (
  org_id text not null,
  counter text not null,
  funded numeric(30, 10) not null default 0,
  granted numeric(30, 10) not null default 0,
  primary key (org_id, counter)
) with (fillfactor = 70);

-- Narrow rows that only their node updates: granted less spent is what it may hold against.
create table allotments (
  org_id text not null,
  counter text not null,
  node text not null,
  granted numeric(30, 10) not null default 0,
  spent numeric(30, 10) not null default 0,
  since timestamptz not null default now(),
  primary key (org_id, counter, node)
) with (fillfactor = 50);
create index allotments_by_node on allotments (node);

-- Double entry, one row a movement: amount leaves debit_account for credit_account. Accounts of an organisation:
-- funding, available, node:ID, revenue. Append-only.
create table transfers (
  org_id text not null,
  id bigint generated always as identity,
  currency text not null,
  debit_account text not null,
  credit_account text not null,
  amount numeric(30, 10) not null check (amount > 0),
  kind text not null check (kind in ('topup', 'allot', 'return', 'charge', 'correct')),
  ref text not null,
  at timestamptz not null default now(),
  primary key (org_id, id)
);

-- Callers' request ids that are spent, for ever: written by the settlement, or by the first checkpoint.
create table spent_requests (
  org_id text not null,
  key_id text not null,
  request_id text not null,
  ref text not null,
  primary key (org_id, key_id, request_id)
);

-- What must be preserved of the first design's holds: those that are open, and the spent request ids.
alter table holds rename to old_holds;
alter table old_holds rename constraint holds_pkey to old_holds_pkey;
drop index holds_open, holds_closed;

-- Exchanges that run longer than a second: what they would settle now. A reaper closes those of a dead node; the row
-- stays until the node comes back with the truth, or is past keeping.
create table holds (
  org_id text not null,
  ref text not null,
  node text not null,
  currency text not null,
  key_id text not null,
  request_id text not null,
  amount numeric(30, 10) not null,
  day date not null,
  cost numeric(30, 10) not null default 0,
  -- Whether request_id is the caller's.
  spends boolean not null,
  -- The usage record; null where nothing is billed yet.
  usage jsonb,
  -- settled stands in the way of a first checkpoint that may come late.
  state text not null default 'open' check (state in ('open', 'reaped', 'settled')),
  -- When it was reaped: the time of its usage record.
  reaped_at timestamptz,
  opened_at timestamptz not null default now(),
  primary key (org_id, ref)
) with (fillfactor = 70);
create index holds_by_node on holds (node) where state = 'open';

insert into nodes (id, lease_until)
  select 'first-design', max(lease_until) from old_holds where state = 'held' having count(*) > 0;
insert into holds (org_id, ref, node, currency, key_id, request_id, spends, amount, day, cost, usage, opened_at)
  select org_id, ref, 'first-design', currency, key_id, request_id, request_id <> ref, amount, quota_day,
    coalesce((checkpoint ->> 'cost')::numeric, 0), nullif(checkpoint -> 'usage', 'null'), opened_at
  from old_holds where state = 'held';
-- A hold that a reaper closed may still be corrected by its node.
insert into holds
    (org_id, ref, node, currency, key_id, request_id, spends, amount, day, cost, state, reaped_at, opened_at)
  select h.org_id, h.ref, 'first-design', h.currency, h.key_id, h.request_id, h.request_id <> h.ref, h.amount,
    h.quota_day, h.cost, 'reaped', u.at, h.opened_at
  from old_holds h left join usage_records u on u.ref = h.ref where h.reaped;
insert into spent_requests (org_id, key_id, request_id, ref)
  select org_id, key_id, request_id, max(ref) from old_holds where state <> 'released' and request_id <> ref group by 1, 2, 3;

insert into counters (org_id, counter, funded, granted)
  select b.org_id, b.currency, b.available + b.held + coalesce(e.revenue, 0), b.held + coalesce(e.revenue, 0)
  from balances b left join (
    select org_id, currency, sum(amount) as revenue from entries where account = 'revenue' group by 1, 2) e
    on e.org_id = b.org_id and e.currency = b.currency;
insert into allotments (org_id, counter, node, granted)
  select org_id, currency, 'first-design', held from balances where held > 0;
insert into counters (org_id, counter, granted)
  select org_id, 'tokens:' || day, used + reserved from quota_days;
insert into allotments (org_id, counter, node, granted)
  select org_id, 'tokens:' || day, 'first-design', reserved from quota_days where reserved > 0;

-- Each movement of the first design, which had an entry for each account, becomes one transfer or two.
with movement as (
  select min(id) as id, org_id, currency, ref, kind, at,
    coalesce(sum(amount) filter (where account = 'held'), 0) as held,
    coalesce(sum(amount) filter (where account = 'revenue'), 0) as revenue,
    coalesce(sum(amount) filter (where account = 'available'), 0) as available
  from entries group by org_id, currency, ref, kind, at
)
insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref, at)
select m.org_id, m.currency,
  case when t.amount > 0 then t.debit_account else t.credit_account end,
  case when t.amount > 0 then t.credit_account else t.debit_account end,
  abs(t.amount), t.kind, m.ref, m.at
from movement m cross join lateral (values
  ('funding', 'available', case when m.kind = 'topup' then m.available else 0 end, 'topup'),
  ('available', 'node:first-design', case when m.kind = 'hold' then m.held else 0 end, 'allot'),
  ('node:first-design', 'available', case when m.kind = 'release' then -m.held
    when m.kind = 'settle' then greatest(-m.held - greatest(m.revenue, 0), 0) else 0 end, 'return'),
  ('node:first-design', 'revenue', case when m.kind = 'settle' then least(-m.held, greatest(m.revenue, 0)) else 0 end,
    'charge'),
  ('available', 'revenue', case when m.kind = 'settle' then m.revenue - least(-m.held, greatest(m.revenue, 0)) else 0 end,
    'charge')) as t(debit_account, credit_account, amount, kind)
where t.amount <> 0
order by m.id;

drop function ledger_hold, ledger_close, ledger_renew, ledger_reap, ledger_audit, ledger_topup, quota_today;
drop table old_holds, entries, balances, quota_days;

-- One index serves statements and tells a settlement that comes twice: its time is part of it.
alter table usage_records drop constraint usage_records_pkey;
drop index usage_records_by_org;
alter table usage_records add primary key (org_id, at, ref);

-- Since when usage records are kept: older charges have none any more.
create table usage_kept (since timestamptz not null);
insert into usage_kept select min(at) from usage_records having min(at) is not null;

-- Credits an account once an id. Gives whether it was new.
create function ledger_topup(topup_id text, topup_org text, topup_currency text, topup_amount numeric)
returns boolean language plpgsql as $fn$
begin
  insert into topups (id, org_id, currency, amount) values (topup_id, topup_org, topup_currency, topup_amount)
  on conflict do nothing;
  if not found then
    return false;
  end if;
  insert into counters as c (org_id, counter, funded) values (topup_org, topup_currency, topup_amount)
  on conflict (org_id, counter) do update set funded = c.funded + excluded.funded;
  insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
  select topup_org, topup_currency, 'funding', 'available', topup_amount, 'topup', topup_id where topup_amount > 0;
  return true;
end $fn$;

-- What an organisation has of a counter: available plus all allotments.
create function ledger_balance(p_org text, p_counter text) returns numeric language sql stable as $fn$
  select coalesce((select funded - granted from counters where org_id = p_org and counter = p_counter), 0)
    + coalesce((select sum(granted - spent) from allotments where org_id = p_org and counter = p_counter), 0)
$fn$;

-- Money is moved between an account and a node, by its sign; tokens have no accounts.
create function ledger_move(p_org text, p_counter text, p_node text, p_amount numeric, p_ref text)
returns void language sql as $fn$
  insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
  select p_org, p_counter, case when p_amount > 0 then 'available' else 'node:' || p_node end,
    case when p_amount > 0 then 'node:' || p_node else 'available' end, abs(p_amount),
    case when p_amount > 0 then 'allot' else 'return' end, p_ref
  where p_amount <> 0 and p_counter not like 'tokens:%'
$fn$;

-- Grants allotments to nodes, for many holds in one round trip and one commit. Each item names a node and counters:
-- {item, node, org, cur, counters: [{counter, need, want, limit}]}. All its counters have what it needs, or it gets nothing.
-- Of a counter it gets what it wants, but no more than an eighth of what is available, and no less than it needs.
-- Outcomes: granted (grants: by counter; scarce: counters of which an eighth is less than was wanted; balance: of cur) | short (of counter: available, and how many other
-- nodes have some) | lapsed (the node was taken for dead).
create function ledger_allot(items jsonb)
returns table (item integer, outcome text, counter text, available numeric, others integer, grants jsonb, scarce jsonb,
  balance numeric)
language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
  c record;
  share numeric;
begin
  perform 1 from nodes n
    where n.id in (select x.node from jsonb_to_recordset(items) as x(node text)) order by n.id for key share;
  insert into counters (org_id, counter)
    select distinct x.org, y.counter
    from jsonb_to_recordset(items) as x(org text, counters jsonb),
      jsonb_to_recordset(x.counters) as y(counter text)
    where y.counter like 'tokens:%' order by 1, 2
    on conflict do nothing;
  perform 1 from counters k
    where (k.org_id, k.counter) in (
      select x.org, y.counter from jsonb_to_recordset(items) as x(org text, counters jsonb),
        jsonb_to_recordset(x.counters) as y(counter text))
    order by k.org_id, k.counter for update;
  for r in
    select x.item, x.node, x.org, x.cur, x.counters, exists (
      select from nodes n where n.id = x.node and n.lease_until > now()) as alive
    from jsonb_to_recordset(items) as x(item integer, node text, org text, cur text, counters jsonb)
    order by x.item
  loop
    item := r.item;
    outcome := case when r.alive then 'granted' else 'lapsed' end;
    counter := null;
    available := null;
    others := 0;
    grants := '{}';
    scarce := '[]';
    balance := null;
    if r.alive then
      for c in
        select y.counter, y.need, y.want,
          coalesce(y.limit, k.funded) - k.granted - coalesce((
            select sum(a.spent - a.granted) from allotments a
            where a.org_id = r.org and a.counter = y.counter and a.node <> r.node and a.spent > a.granted), 0) as free,
          (select count(*) from allotments a
            where a.org_id = r.org and a.counter = y.counter and a.node <> r.node and a.granted > a.spent) as others
        from jsonb_to_recordset(r.counters) as y(counter text, need numeric, want numeric, "limit" numeric)
        left join counters k on k.org_id = r.org and k.counter = y.counter
      loop
        if c.free is null or c.free < c.need then
          outcome := 'short';
          counter := c.counter;
          available := c.free;
          others := c.others;
          exit;
        end if;
        share := greatest(c.need, least(c.want, trunc(c.free / 8, 10)));
        grants := grants || jsonb_build_object(c.counter, share::text);
        if c.free / 8 < c.want then
          scarce := scarce || to_jsonb(c.counter);
        end if;
      end loop;
    end if;
    if outcome = 'granted' then
      for c in select g.key as counter, g.value::numeric as share from jsonb_each_text(grants) g where g.value::numeric <> 0 loop
        update counters k set granted = k.granted + c.share where k.org_id = r.org and k.counter = c.counter;
        insert into allotments as a (org_id, counter, node, granted) values (r.org, c.counter, r.node, c.share)
        on conflict on constraint allotments_pkey do update set granted = a.granted + excluded.granted;
        perform ledger_move(r.org, c.counter, r.node, c.share, r.node);
      end loop;
      balance := ledger_balance(r.org, r.cur);
    end if;
    return next;
  end loop;
end $fn$;

-- Takes back what nodes do not need: [{node, org, counter, amount, last}]. Negative amounts make up for costs beyond
-- the allotment. last: the node has no holds there; its row goes when nothing is left. A node that was taken for dead has
-- nothing to give back.
create function ledger_return(items jsonb) returns void language plpgsql as $fn$
declare
  r record;
begin
  insert into counters (org_id, counter)
    select x.org, x.counter from jsonb_to_recordset(items) as x(org text, counter text) where x.counter like 'tokens:%'
    order by 1, 2
    on conflict do nothing;
  perform 1 from counters k
    where (k.org_id, k.counter) in (select x.org, x.counter from jsonb_to_recordset(items) as x(org text, counter text))
    order by k.org_id, k.counter for update;
  for r in
    select x.* from jsonb_to_recordset(items) as x(node text, org text, counter text, amount numeric, last boolean)
    order by x.org, x.counter
  loop
    update allotments a set granted = a.granted - r.amount
    where a.org_id = r.org and a.counter = r.counter and a.node = r.node and r.amount <> 0;
    if found then
      update counters k set granted = k.granted - r.amount where k.org_id = r.org and k.counter = r.counter;
      perform ledger_move(r.org, r.counter, r.node, -r.amount, r.node);
    end if;
    if r.last then
      delete from allotments a
      where a.org_id = r.org and a.counter = r.counter and a.node = r.node and a.granted = a.spent;
    end if;
  end loop;
end $fn$;

-- Settles many exchanges in one commit: usage record, charge, what the node's allotments have spent, and the caller's
-- request id. Settling again changes nothing; what a reaper settled is replaced. Outcomes: settled | duplicate (the
-- request id was spent by another exchange: nothing is billed); the balance is the organisation's.
create function ledger_settle(items json, any_opened boolean)
returns table (item integer, outcome text, balance numeric) language plpgsql as $fn$
#variable_conflict use_column
begin
  if any_opened then
    perform ledger_close_holds(items);
  end if;
  return query
  with x as materialized (
    select * from json_to_recordset(items) as x(item integer, node text, org text, ref text, cur text, key text, req text,
      day date, at double precision, cost numeric, app text, session text, purpose text, model text, vendor text,
      tin bigint, tout bigint, tread bigint, twrite bigint, dims jsonb, est text, stop text, saving numeric)
  ), spent as (
    insert into spent_requests as s (org_id, key_id, request_id, ref)
    select org, key, req, ref from x where req is not null
    order by 1, 2, 3
    on conflict (org_id, key_id, request_id) do update set ref = s.ref
    returning s.org_id, s.key_id, s.request_id, s.ref
  ), judged as materialized (
    select x.*, s.ref is not null and s.ref <> x.ref as is_duplicate
    from x left join spent s on s.org_id = x.org and s.key_id = x.key and s.request_id = x.req
  ), booked as (
    insert into usage_records (ref, at, org_id, app_id, key_id, request_id, session_id, purpose, model, vendor,
      in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, dims, estimated_reason, stop, cost,
      cache_net_saving, currency)
    select ref, to_timestamp(at / 1000), org, app, key, coalesce(req, ref), session, purpose, model, vendor,
      tin, tout, tread, twrite, dims, est, stop, cost, saving, cur
    from judged where not is_duplicate
    on conflict do nothing
    returning ref
  ), charge as materialized (
    select * from judged where ref in (select b.ref from booked b)
  ), taken as (
    insert into allotments as a (org_id, counter, node, spent)
    select org, cur, node, sum(cost) from charge group by 1, 2, 3 having sum(cost) <> 0
    union all
    select org, 'tokens:' || day, node, sum(tin + tout + tread + twrite) from charge group by 1, 2, 3
    having sum(tin + tout + tread + twrite) <> 0
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
  )
  select j.item, case when j.is_duplicate then 'duplicate' else 'settled' end, a.balance
  from judged j join account a on a.org = j.org and a.cur = j.cur;
end $fn$;

-- Forgets open holds that are about to be settled, and takes back what a reaper settled of them.
create function ledger_close_holds(items json) returns void language plpgsql as $fn$
declare
  r record;
begin
  for r in
    delete from holds h
    where (h.org_id, h.ref) in (select x.org, x.ref from json_to_recordset(items) as x(org text, ref text))
      and h.state <> 'settled'
    returning h.*
  loop
    if r.state = 'reaped' then
      with undone as (
        delete from usage_records u where u.org_id = r.org_id and u.at = r.reaped_at and u.ref = r.ref
        returning u.cost, u.in_tokens + u.out_tokens + u.cache_read_tokens + u.cache_write_tokens as tokens
      ), given as (
        insert into allotments as a (org_id, counter, node, spent)
        select r.org_id, v.counter, r.node, -v.amount
        from undone cross join lateral (values (r.currency, undone.cost), ('tokens:' || r.day, undone.tokens))
          as v(counter, amount)
        where v.amount <> 0 order by v.counter
        on conflict (org_id, counter, node) do update set spent = a.spent + excluded.spent
      )
      insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
      select r.org_id, r.currency, 'revenue', 'node:' || r.node, undone.cost, 'correct', r.ref
      from undone where undone.cost > 0;
    end if;
  end loop;
end $fn$;

-- Writes what running exchanges would settle now. At the first checkpoint of an exchange its request id is spent; where
-- it is already, the exchange has ended meanwhile or is a second one, and nothing is written.
create function ledger_checkpoint(items json) returns void language plpgsql as $fn$
begin
  with x as materialized (
    select * from json_to_recordset(items) as x(node text, org text, ref text, cur text, key text, req text, first boolean,
      amount numeric, day date, cost numeric, usage jsonb)
  ), fresh as (
    insert into spent_requests (org_id, key_id, request_id, ref)
    select org, key, req, ref from x where first and req is not null order by 1, 2, 3
    on conflict do nothing
    returning org_id, ref
  ), opened as (
    insert into holds (org_id, ref, node, currency, key_id, request_id, spends, amount, day, cost, usage)
    select x.org, x.ref, x.node, x.cur, x.key, coalesce(x.req, x.ref), x.req is not null, x.amount, x.day, x.cost, x.usage
    from x left join fresh f on f.org_id = x.org and f.ref = x.ref
    where x.first and (x.req is null or f.ref is not null)
    on conflict do nothing
  )
  update holds h set cost = x.cost, usage = x.usage
  from x where h.org_id = x.org and h.ref = x.ref and h.state = 'open';
end $fn$;

-- Stands in the way of a first checkpoint that may come late, before its exchange is settled or released.
create function ledger_forbid_checkpoint(p_org text, p_ref text, p_node text) returns void language sql as $fn$
  insert into holds (org_id, ref, node, currency, key_id, request_id, spends, amount, day, state)
  values (p_org, p_ref, p_node, '', '', p_ref, false, 0, current_date, 'settled')
  on conflict (org_id, ref) do update set state = 'settled' where holds.state = 'open'
$fn$;

-- Forgets open holds of exchanges that ended without a charge; their request ids may be used again.
create function ledger_release(items json) returns void language sql as $fn$
  with closed as (
    delete from holds h using json_to_recordset(items) as x(org text, ref text)
    where h.org_id = x.org and h.ref = x.ref and h.state = 'open'
    returning h.org_id, h.key_id, h.request_id, h.ref
  )
  delete from spent_requests s using closed c
  where s.org_id = c.org_id and s.key_id = c.key_id and s.request_id = c.request_id and s.ref = c.ref
$fn$;

-- Whether request ids are spent, and whether the exchange that spent one still runs.
create function ledger_spent(items json)
returns table (item integer, spent boolean, running boolean) language plpgsql stable as $fn$
begin
  return query
  select x.item, s.ref is not null, h.ref is not null
  from json_to_recordset(items) as x(item integer, org text, key text, req text)
  left join spent_requests s on s.org_id = x.org and s.key_id = x.key and s.request_id = x.req
  left join holds h on h.org_id = s.org_id and h.ref = s.ref and h.state = 'open';
end $fn$;

-- Settles what dead nodes left, at its last checkpoint, then takes back their allotments. Nodes may reap at once: each
-- dead node is closed by one of them.
create function ledger_reap(most integer)
returns table (ref text, outcome text) language plpgsql as $fn$
#variable_conflict use_column
declare
  n record;
  h record;
  a record;
  u record;
  closed integer := 0;
  tokens bigint;
begin
  -- A node that was taken for dead may have written a checkpoint since.
  insert into nodes (id, lease_until)
    select distinct o.node, '-infinity'::timestamptz from holds o
    where o.state = 'open' and not exists (select from nodes k where k.id = o.node)
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
        insert into usage_records (ref, at, org_id, app_id, key_id, request_id, session_id, purpose, model, vendor,
          in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, dims, estimated_reason, stop, cost,
          cache_net_saving, currency)
        values (h.ref, u.at, h.org_id, u.app_id, h.key_id, h.request_id, u.session_id, u.purpose, u.model, u.vendor,
          u.in_tokens, u.out_tokens, u.cache_read_tokens, u.cache_write_tokens, u.dims, u.estimated_reason, u.stop,
          h.cost, u.cache_net_saving, h.currency);
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
  for a in
    select o.org_id, o.counter, o.node from allotments o
    where not exists (select from nodes where id = o.node) order by 1, 2, 3
  loop
    insert into counters (org_id, counter) values (a.org_id, a.counter) on conflict do nothing;
    perform 1 from counters k where k.org_id = a.org_id and k.counter = a.counter for update;
    delete from allotments o where o.org_id = a.org_id and o.counter = a.counter and o.node = a.node
      returning o.granted - o.spent as rest into u;
    if found then
      update counters k set granted = k.granted - u.rest where k.org_id = a.org_id and k.counter = a.counter;
      perform ledger_move(a.org_id, a.counter, a.node, -u.rest, a.node);
    end if;
  end loop;
end $fn$;

-- Movements as their organisation sees them: an amount for each account. What nodes have counts as available.
create view ledger_entries as
  select t.org_id, t.id, t.id * 2 + leg.place as number, t.at, t.kind, leg.account, leg.amount, t.currency, t.ref
  from transfers t cross join lateral (values
    (0, case when t.debit_account like 'node:%' then 'available' else t.debit_account end, -t.amount),
    (1, case when t.credit_account like 'node:%' then 'available' else t.credit_account end, t.amount))
    as leg(place, account, amount)
  where t.kind in ('topup', 'charge', 'correct');

-- What must hold of the books; every row that comes back is a finding with the id of what is wrong.
create function ledger_audit()
returns table (finding text, id text) language sql stable as $fn$
  with leg as (
    select org_id, currency, debit_account as account, -amount as amount from transfers
    union all
    select org_id, currency, credit_account, amount from transfers
  ), account as materialized (
    select org_id, currency, leg.account, sum(amount) as amount from leg group by 1, 2, 3
  ), stored as (
    select org_id, counter as currency, 'available' as account, funded - granted as amount
    from counters where counter not like 'tokens:%'
    union all
    select org_id, counter, 'funding', -funded from counters where counter not like 'tokens:%'
    union all
    select org_id, counter, 'node:' || node, granted - spent from allotments where counter not like 'tokens:%'
  )
  select 'transfers do not sum to the balance',
    coalesce(a.org_id, s.org_id) || ' ' || coalesce(a.currency, s.currency) || ' ' || coalesce(a.account, s.account)
  from account a
  full join stored s on s.org_id = a.org_id and s.currency = a.currency and s.account = a.account
  where coalesce(a.account, '') <> 'revenue' and coalesce(a.amount, 0) <> coalesce(s.amount, 0)
  union all
  select 'a settlement has no usage record', t.ref
  from transfers t
  where t.kind in ('charge', 'correct')
    and t.at > coalesce((select max(since) from usage_kept), '-infinity') + interval '1 minute'
    and not exists (select from usage_records u where u.org_id = t.org_id and u.ref = t.ref)
  union all
  select 'a usage record has no settlement', u.ref
  from usage_records u
  left join (
    select org_id, ref, sum(case when credit_account = 'revenue' then amount else -amount end) as cost
    from transfers where kind in ('charge', 'correct') group by 1, 2) t on t.org_id = u.org_id and t.ref = u.ref
  where u.source = 'gateway' and u.cost <> coalesce(t.cost, 0)
  union all
  select 'a call was billed twice', u.ref from usage_records u group by u.org_id, u.ref having count(*) > 1
  union all
  select 'a request id was billed twice', u.org_id || ' ' || u.key_id || ' ' || u.request_id
  from usage_records u where u.source = 'gateway' group by u.org_id, u.key_id, u.request_id having count(*) > 1
  union all
  select 'a hold has outlived its lease', h.ref
  from holds h left join nodes n on n.id = h.node
  where h.state = 'open' and (n.id is null or n.lease_until < now())
  union all
  select 'an allotment has outlived its node', a.org_id || ' ' || a.counter || ' ' || a.node
  from allotments a join nodes n on n.id = a.node where n.lease_until < now() - interval '1 minute'
  union all
  select 'a counter does not match its allotments', a.org_id || ' ' || a.counter
  from (select org_id, counter, sum(granted) as granted from allotments group by 1, 2) a
  left join counters c on c.org_id = a.org_id and c.counter = a.counter
  where a.counter like 'tokens:%' and a.granted > coalesce(c.granted, 0)
$fn$;

-- Usage records by day: makes the days to come, drops those that are past keeping, and with them reaped holds and counters
-- of days. Transfers and spent request ids are kept for ever. Safe on many nodes: one works, the others pass.
create or replace function retain(keep_days integer, ahead_days integer)
returns table (made integer, dropped integer, removed bigint) language plpgsql as $fn$
declare
  d date;
  part record;
  oldest date := (now() at time zone 'UTC')::date - keep_days;
  gone bigint;
begin
  made := 0;
  dropped := 0;
  removed := 0;
  if not pg_try_advisory_xact_lock(hashtext('weir.retain')) then
    return next;
    return;
  end if;
  for d in select generate_series((now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date + ahead_days, '1 day')::date loop
    if to_regclass('usage_records_' || to_char(d, 'YYYYMMDD')) is null then
      begin
        execute format('create table %I partition of usage_records for values from (%L) to (%L)',
          'usage_records_' || to_char(d, 'YYYYMMDD'), d::text || ' 00:00:00+00', (d + 1)::text || ' 00:00:00+00');
        made := made + 1;
      exception when check_violation then
        -- The default partition already has records of this day; they stay there.
        null;
      end;
    end if;
  end loop;
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'usage_records'::regclass and c.relname ~ '^usage_records_\d{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < oldest
  loop
    execute format('drop table %I', part.relname);
    dropped := dropped + 1;
  end loop;
  delete from usage_kept;
  insert into usage_kept values (oldest::timestamp at time zone 'UTC');
  delete from usage_records_default where at < oldest;
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from holds where state <> 'open' and coalesce(reaped_at, opened_at) < oldest;
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from counters c where c.counter like 'tokens:%' and substr(c.counter, 8)::date < oldest
    and not exists (select from allotments a where a.org_id = c.org_id and a.counter = c.counter);
  get diagnostics gone = row_count;
  removed := removed + gone;
  return next;
end $fn$;
