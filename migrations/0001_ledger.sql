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
  cost numeric(30, 10),
  opened_at timestamptz not null default now(),
  closed_at timestamptz,
  unique (org_id, key_id, request_id, attempt)
);
create index holds_open on holds (opened_at) where state = 'held';

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

-- Reserves for many exchanges in one round trip and one commit. Accounts are locked in one order; then the items are
-- judged one by one, each for itself, and what was granted is written as sets. Outcomes: held | insufficient |
-- duplicate (the caller's request id is already in the ledger, running or billed). Asking again with the same ref gives
-- the same answer.
create function ledger_hold(items jsonb)
returns table (item integer, outcome text, balance numeric) language plpgsql as $fn$
declare
  r record;
  account text := '';
  free numeric;
  granted integer[] := '{}';
begin
  perform 1 from balances b
    where (b.org_id, b.currency) in (
      select x.org_id, x.currency from jsonb_to_recordset(items) as x(org_id text, currency text))
    order by b.org_id, b.currency for update;
  for r in
    select x.*, b.available, h.tries, h.taken, h.mine,
      row_number() over (partition by x.org_id, x.key_id, x.request_id order by x.item) > 1 as twin
    from jsonb_to_recordset(items) as x(
      item integer, ref text, org_id text, currency text, key_id text, request_id text, amount numeric)
    left join balances b on b.org_id = x.org_id and b.currency = x.currency
    cross join lateral (
      select count(*) as tries, bool_or(k.state <> 'released') as taken, bool_or(k.ref = x.ref) as mine from holds k
      where k.org_id = x.org_id and k.key_id = x.key_id and k.request_id = x.request_id) h
    order by x.org_id, x.currency, x.item
  loop
    if account <> r.org_id || ' ' || r.currency then
      account := r.org_id || ' ' || r.currency;
      free := coalesce(r.available, 0);
    end if;
    item := r.item;
    if r.mine then
      outcome := 'held';
    elsif r.taken or r.twin then
      outcome := 'duplicate';
    elsif r.available is null or free < r.amount then
      outcome := 'insufficient';
    else
      outcome := 'held';
      free := free - r.amount;
      granted := granted || r.item;
    end if;
    balance := free;
    return next;
  end loop;

  with new as (
    insert into holds (ref, org_id, currency, key_id, request_id, attempt, amount)
    select x.ref, x.org_id, x.currency, x.key_id, x.request_id,
      1 + (select count(*) from holds k
        where k.org_id = x.org_id and k.key_id = x.key_id and k.request_id = x.request_id), x.amount
    from jsonb_to_recordset(items) as x(
      item integer, ref text, org_id text, currency text, key_id text, request_id text, amount numeric)
    where x.item = any(granted)
    returning holds.*
  ), moved as (
    update balances b set available = b.available - s.amount, held = b.held + s.amount
    from (select new.org_id, new.currency, sum(new.amount) as amount from new group by 1, 2) s
    where b.org_id = s.org_id and b.currency = s.currency
  )
  insert into entries (org_id, currency, account, amount, kind, ref)
  select new.org_id, new.currency, e.account, e.amount, 'hold', new.ref
  from new cross join lateral (values ('available', -new.amount), ('held', new.amount)) as e(account, amount);
end $fn$;

-- Closes holds in one round trip and one commit: settled at a cost with a usage record, or released where usage is
-- null. Closing again changes nothing. Outcomes: settled | released | unknown (there is no such hold); the balance is
-- the account's at this commit.
create function ledger_close(items jsonb)
returns table (item integer, outcome text, balance numeric) language plpgsql as $fn$
begin
  perform 1 from balances b
    where (b.org_id, b.currency) in (
      select h.org_id, h.currency from holds h
      join jsonb_to_recordset(items) as x(ref text) on x.ref = h.ref)
    order by b.org_id, b.currency for update;

  with closing as (
    select distinct on (x.ref) x.ref, x.cost, x.usage
    from jsonb_to_recordset(items) as x(item integer, ref text, cost numeric, usage jsonb)
    order by x.ref, x.item
  ), closed as (
    update holds h set
      state = case when c.usage is null then 'released' else 'settled' end,
      cost = case when c.usage is null then 0 else c.cost end,
      closed_at = now()
    from closing c where h.ref = c.ref and h.state = 'held'
    returning h.*, c.usage
  ), moved as (
    update balances b set available = b.available + s.back, held = b.held - s.held
    from (
      select closed.org_id, closed.currency, sum(closed.amount - closed.cost) as back, sum(closed.amount) as held
      from closed group by 1, 2) s
    where b.org_id = s.org_id and b.currency = s.currency
  ), booked as (
    insert into entries (org_id, currency, account, amount, kind, ref)
    select closed.org_id, closed.currency, e.account, e.amount,
      case when closed.usage is null then 'release' else 'settle' end, closed.ref
    from closed cross join lateral (values
      ('held', -closed.amount), ('available', closed.amount - closed.cost), ('revenue', closed.cost)) as e(account, amount)
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
