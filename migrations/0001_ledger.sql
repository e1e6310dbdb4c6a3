-- The ledger: append-only double entry. Entries of one movement sum to zero; entries of one account sum to its balance.
-- Accounts of an org: available (what it may spend), held (reserved by running exchanges), revenue (what it spent),
-- funding (what it paid in, negative). Balances keep the two sums that the hot path needs.

create table balances (
  org_id text not null,
  currency text not null,
  available numeric(30, 10) not null default 0,
  held numeric(30, 10) not null default 0 check (held >= 0),
  primary key (org_id, currency)
);

-- One row a reservation. ref is the gateway's own request id; (org, key, request, attempt) is the caller's.
create table holds (
  ref text primary key,
  org_id text not null,
  currency text not null,
  key_id text not null,
  request_id text not null,
  attempt integer not null,
  amount numeric(30, 10) not null check (amount >= 0),
  state text not null default 'held' check (state in ('held', 'settled', 'released')),
  cost numeric(30, 10) not null default 0,
  -- The node that opened the hold renews the lease while it lives; checkpoint is what it would settle now.
  lease_until timestamptz not null,
  checkpoint jsonb,
  -- Closed by a reaper for a node that was thought dead; if that node comes back with the truth, it is corrected.
  reaped boolean not null default false,
  -- Tokens of the daily quota: reserved while held, used once settled.
  quota_day date not null,
  quota_tokens bigint not null,
  tokens bigint not null default 0,
  opened_at timestamptz not null default now(),
  closed_at timestamptz,
  unique (org_id, key_id, request_id, attempt)
);
create index holds_open on holds (lease_until) where state = 'held';

-- Tokens by org and day; days change at midnight UTC+8.
create table quota_days (
  org_id text not null,
  day date not null,
  used bigint not null default 0,
  reserved bigint not null default 0 check (reserved >= 0),
  primary key (org_id, day)
);

create table entries (
  id bigint generated always as identity primary key,
  org_id text not null,
  currency text not null,
  account text not null check (account in ('available', 'held', 'revenue', 'funding')),
  amount numeric(30, 10) not null,
  kind text not null check (kind in ('topup', 'hold', 'settle', 'release')),
  ref text not null,
  at timestamptz not null default now()
);
create index entries_by_org on entries (org_id, currency, id);

create table topups (
  id text primary key,
  org_id text not null,
  currency text not null,
  amount numeric(30, 10) not null check (amount >= 0),
  at timestamptz not null default now()
);

-- One row a billed call, partitioned by day; the default partition takes what has no day of its own.
create table usage_records (
  ref text not null,
  at timestamptz not null default now(),
  org_id text not null,
  app_id text not null,
  key_id text not null,
  request_id text not null,
  session_id text,
  purpose text not null,
  source text not null default 'gateway',
  model text not null,
  vendor text not null,
  in_tokens bigint not null,
  out_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  dims jsonb not null,
  estimated_reason text,
  stop text not null,
  cost numeric(30, 10) not null,
  cache_net_saving numeric(30, 10) not null,
  currency text not null,
  primary key (ref, at)
) partition by range (at);
create table usage_records_default partition of usage_records default;
create index usage_records_by_org on usage_records (org_id, at desc);

-- Credits an account once an id. Gives whether it was new.
create function ledger_topup(topup_id text, topup_org text, topup_currency text, topup_amount numeric)
returns boolean language plpgsql as $fn$
begin
  insert into topups (id, org_id, currency, amount) values (topup_id, topup_org, topup_currency, topup_amount)
  on conflict do nothing;
  if not found then
    return false;
  end if;
  insert into balances as b (org_id, currency, available) values (topup_org, topup_currency, topup_amount)
  on conflict (org_id, currency) do update set available = b.available + excluded.available;
  insert into entries (org_id, currency, account, amount, kind, ref) values
    (topup_org, topup_currency, 'available', topup_amount, 'topup', topup_id),
    (topup_org, topup_currency, 'funding', -topup_amount, 'topup', topup_id);
  return true;
end $fn$;

create function quota_today() returns date language sql stable as
  $fn$ select ((now() at time zone 'UTC') + interval '8 hours')::date $fn$;

-- Reserves for many exchanges in one round trip and one commit. Accounts are locked in one order; then the items are
-- judged one by one, each for itself, and what was granted is written as sets. Outcomes: held | quota (used tells how
-- much of the day is taken) | insufficient | billed (the caller's request id is spent) | running (it is held by another
-- call, whose end is open). Asking again with the same ref gives the same answer.
create function ledger_hold(items jsonb)
returns table (item integer, outcome text, balance numeric, used bigint) language plpgsql as $fn$
declare
  r record;
  account text := '';
  org text := '';
  free numeric;
  taken bigint;
  granted integer[] := '{}';
  today date := quota_today();
begin
  insert into quota_days (org_id, day)
    select distinct x.org_id, today from jsonb_to_recordset(items) as x(org_id text) order by 1
    on conflict do nothing;
  perform 1 from balances b
    where (b.org_id, b.currency) in (
      select x.org_id, x.currency from jsonb_to_recordset(items) as x(org_id text, currency text))
    order by b.org_id, b.currency for update;
  perform 1 from quota_days q
    where q.day = today and q.org_id in (select x.org_id from jsonb_to_recordset(items) as x(org_id text))
    order by q.org_id for update;
  for r in
    select x.*, b.available, h.running, h.billed, h.mine, q.used + q.reserved as spent,
      row_number() over (partition by x.org_id, x.key_id, x.request_id order by x.item) > 1 as twin
    from jsonb_to_recordset(items) as x(
      item integer, ref text, org_id text, currency text, key_id text, request_id text, amount numeric,
      quota_tokens bigint, quota_limit bigint)
    left join balances b on b.org_id = x.org_id and b.currency = x.currency
    join quota_days q on q.org_id = x.org_id and q.day = today
    cross join lateral (
      select bool_or(k.state = 'held') as running, bool_or(k.state = 'settled') as billed,
        bool_or(k.ref = x.ref) as mine from holds k
      where k.org_id = x.org_id and k.key_id = x.key_id and k.request_id = x.request_id) h
    order by x.org_id, x.currency, x.item
  loop
    if account <> r.org_id || ' ' || r.currency then
      account := r.org_id || ' ' || r.currency;
      free := coalesce(r.available, 0);
    end if;
    if org <> r.org_id then
      org := r.org_id;
      taken := r.spent;
    end if;
    item := r.item;
    used := taken;
    if r.mine then
      outcome := 'held';
    elsif r.billed then
      outcome := 'billed';
    elsif r.running or r.twin then
      outcome := 'running';
    elsif taken + r.quota_tokens > r.quota_limit then
      outcome := 'quota';
    elsif r.available is null or free < r.amount then
      outcome := 'insufficient';
    else
      outcome := 'held';
      free := free - r.amount;
      taken := taken + r.quota_tokens;
      granted := granted || r.item;
    end if;
    balance := free;
    return next;
  end loop;

  with new as (
    insert into holds (ref, org_id, currency, key_id, request_id, attempt, amount, lease_until, quota_day, quota_tokens)
    select x.ref, x.org_id, x.currency, x.key_id, x.request_id,
      1 + (select count(*) from holds k
        where k.org_id = x.org_id and k.key_id = x.key_id and k.request_id = x.request_id), x.amount,
      now() + x.lease_ms * interval '1 millisecond', today, x.quota_tokens
    from jsonb_to_recordset(items) as x(item integer, ref text, org_id text, currency text, key_id text,
      request_id text, amount numeric, lease_ms integer, quota_tokens bigint)
    where x.item = any(granted)
    returning holds.*
  ), moved as (
    update balances b set available = b.available - s.amount, held = b.held + s.amount
    from (select new.org_id, new.currency, sum(new.amount) as amount from new group by 1, 2) s
    where b.org_id = s.org_id and b.currency = s.currency
  ), reserved as (
    update quota_days q set reserved = q.reserved + s.tokens
    from (select new.org_id, sum(new.quota_tokens) as tokens from new group by 1) s
    where q.org_id = s.org_id and q.day = today
  )
  insert into entries (org_id, currency, account, amount, kind, ref)
  select new.org_id, new.currency, e.account, e.amount, 'hold', new.ref
  from new cross join lateral (values ('available', -new.amount), ('held', new.amount)) as e(account, amount);
end $fn$;

-- Closes holds in one round trip and one commit: settled at a cost with a usage record, or released where usage is
-- null. Closing again changes nothing, but for a hold that a reaper closed: its node knows better. Outcomes: settled |
-- released | unknown (there is no such hold); the balance is the account's at this commit.
create function ledger_close(items jsonb)
returns table (item integer, outcome text, balance numeric) language plpgsql as $fn$
begin
  perform 1 from balances b
    where (b.org_id, b.currency) in (
      select h.org_id, h.currency from holds h
      join jsonb_to_recordset(items) as x(ref text) on x.ref = h.ref)
    order by b.org_id, b.currency for update;
  perform 1 from holds h
    where h.ref in (select x.ref from jsonb_to_recordset(items) as x(ref text))
    order by h.ref for update;
  delete from usage_records u using jsonb_to_recordset(items) as x(ref text, reaper boolean), holds h
    where u.ref = x.ref and h.ref = x.ref and h.reaped and not coalesce(x.reaper, false);

  with closing as (
    select distinct on (x.ref) x.ref, x.cost, x.usage, coalesce(x.reaper, false) as reaper
    from jsonb_to_recordset(items) as x(item integer, ref text, cost numeric, usage jsonb, reaper boolean)
    order by x.ref, x.item
  ), closed as (
    update holds h set
      state = case when c.usage is null then 'released' else 'settled' end,
      cost = case when c.usage is null then 0 else c.cost end,
      tokens = case when c.usage is null then 0 else (c.usage ->> 'in_tokens')::bigint
        + (c.usage ->> 'out_tokens')::bigint + (c.usage ->> 'cache_read_tokens')::bigint
        + (c.usage ->> 'cache_write_tokens')::bigint end,
      reaped = c.reaper,
      closed_at = now()
    from closing c join holds old on old.ref = c.ref
    where h.ref = c.ref
      and case when c.reaper then old.state = 'held' and old.lease_until < now()
        else old.state = 'held' or old.reaped end
    returning h.*, c.usage, old.cost as old_cost, old.tokens as old_tokens,
      case when old.state = 'held' then old.amount else 0 end as unheld,
      case when old.state = 'held' then old.quota_tokens else 0 end as unreserved
  ), moved as (
    update balances b set available = b.available + s.back, held = b.held - s.unheld
    from (
      select closed.org_id, closed.currency, sum(closed.unheld) as unheld,
        sum(closed.unheld + closed.old_cost - closed.cost) as back
      from closed group by 1, 2) s
    where b.org_id = s.org_id and b.currency = s.currency
  ), counted as (
    update quota_days q set used = q.used + s.used, reserved = q.reserved - s.unreserved
    from (
      select closed.org_id, closed.quota_day, sum(closed.unreserved) as unreserved,
        sum(closed.tokens - closed.old_tokens) as used
      from closed group by 1, 2) s
    where q.org_id = s.org_id and q.day = s.quota_day
  ), booked as (
    insert into entries (org_id, currency, account, amount, kind, ref)
    select closed.org_id, closed.currency, e.account, e.amount,
      case when closed.usage is null then 'release' else 'settle' end, closed.ref
    from closed cross join lateral (values
      ('held', -closed.unheld), ('available', closed.unheld + closed.old_cost - closed.cost),
      ('revenue', closed.cost - closed.old_cost)) as e(account, amount)
    where e.amount <> 0
  )
  insert into usage_records (ref, org_id, app_id, key_id, request_id, session_id, purpose, model, vendor,
    in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, dims, estimated_reason, stop, cost,
    cache_net_saving, currency)
  select closed.ref, closed.org_id, u.app_id, closed.key_id, closed.request_id, u.session_id, u.purpose, u.model,
    u.vendor, u.in_tokens, u.out_tokens, u.cache_read_tokens, u.cache_write_tokens, u.dims, u.estimated_reason, u.stop,
    closed.cost, u.cache_net_saving, closed.currency
  from closed cross join lateral jsonb_to_record(closed.usage) as u(app_id text, session_id text, purpose text,
    model text, vendor text, in_tokens bigint, out_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint,
    dims jsonb, estimated_reason text, stop text, cache_net_saving numeric)
  where closed.usage is not null;

  return query
    select x.item, coalesce(h.state, 'unknown'), coalesce(b.available, 0)
    from jsonb_to_recordset(items) as x(item integer, ref text)
    left join holds h on h.ref = x.ref
    left join balances b on b.org_id = h.org_id and b.currency = h.currency;
end $fn$;

-- Renews the leases of running exchanges, and keeps what each would settle if its node died now (usage null: nothing).
create function ledger_renew(items jsonb) returns integer language plpgsql as $fn$
declare
  renewed integer;
begin
  perform 1 from holds h
    where h.ref in (select x.ref from jsonb_to_recordset(items) as x(ref text))
    order by h.ref for update;
  update holds h set lease_until = now() + x.lease_ms * interval '1 millisecond',
    checkpoint = case when x.usage is null then null else jsonb_build_object('cost', x.cost, 'usage', x.usage) end
  from jsonb_to_recordset(items) as x(ref text, lease_ms integer, cost numeric, usage jsonb)
  where h.ref = x.ref and h.state = 'held';
  get diagnostics renewed = row_count;
  return renewed;
end $fn$;

-- Closes what dead nodes left, at its last checkpoint. Nodes may reap at once: each hold is closed by one of them.
create function ledger_reap(most integer)
returns table (ref text, outcome text) language plpgsql as $fn$
declare
  dead jsonb;
begin
  select jsonb_agg(jsonb_build_object('item', d.place, 'ref', d.ref, 'cost', coalesce(d.checkpoint ->> 'cost', '0'),
    'usage', d.checkpoint -> 'usage', 'reaper', true)) into dead
  from (
    select h.ref, h.checkpoint, row_number() over () - 1 as place from holds h
    where h.state = 'held' and h.lease_until < now() order by h.lease_until limit most) d;
  if dead is null then
    return;
  end if;
  return query
    select x.ref, c.outcome from ledger_close(dead) c
    join jsonb_to_recordset(dead) as x(item integer, ref text) on x.item = c.item;
end $fn$;
