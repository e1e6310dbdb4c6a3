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

-- Reserves for many exchanges in one round trip; accounts are locked in one order. Each item fares for itself:
-- held | insufficient | duplicate (the caller's request id is already in the ledger, running or billed).
create function ledger_hold(items jsonb)
returns table (item integer, outcome text, balance numeric) language plpgsql as $fn$
declare
  r record;
  free numeric;
  tries integer;
  taken boolean;
begin
  for r in
    select x.* from jsonb_to_recordset(items) as x(
      item integer, ref text, org_id text, currency text, key_id text, request_id text, amount numeric)
    order by x.org_id, x.currency, x.item
  loop
    item := r.item;
    select b.available into free from balances b
      where b.org_id = r.org_id and b.currency = r.currency for update;
    balance := coalesce(free, 0);
    select count(*), coalesce(bool_or(h.state <> 'released'), false) into tries, taken from holds h
      where h.org_id = r.org_id and h.key_id = r.key_id and h.request_id = r.request_id;
    if taken then
      outcome := 'duplicate';
    elsif free is null or free < r.amount then
      outcome := 'insufficient';
    else
      insert into holds (ref, org_id, currency, key_id, request_id, attempt, amount)
        values (r.ref, r.org_id, r.currency, r.key_id, r.request_id, tries + 1, r.amount);
      update balances b set available = b.available - r.amount, held = b.held + r.amount
        where b.org_id = r.org_id and b.currency = r.currency;
      insert into entries (org_id, currency, account, amount, kind, ref) values
        (r.org_id, r.currency, 'available', -r.amount, 'hold', r.ref),
        (r.org_id, r.currency, 'held', r.amount, 'hold', r.ref);
      outcome := 'held';
      balance := free - r.amount;
    end if;
    return next;
  end loop;
end $fn$;

-- Closes holds: settled at a cost with a usage record, or released where usage is null. Closing again changes nothing
-- and gives the same answer. Outcomes: settled | released | unknown (there is no such hold).
create function ledger_close(items jsonb)
returns table (item integer, outcome text, balance numeric) language plpgsql as $fn$
declare
  r record;
  h holds%rowtype;
  charged numeric;
begin
  for r in
    select x.item, x.ref, x.cost, x.usage from jsonb_to_recordset(items) as x(
      item integer, ref text, cost numeric, usage jsonb)
    left join holds on holds.ref = x.ref
    order by holds.org_id, holds.currency, x.item
  loop
    item := r.item;
    select * into h from holds where holds.ref = r.ref;
    if h.ref is null then
      outcome := 'unknown';
      balance := 0;
      return next;
      continue;
    end if;
    select b.available into balance from balances b
      where b.org_id = h.org_id and b.currency = h.currency for update;
    select * into h from holds where holds.ref = r.ref for update;
    if h.state = 'held' then
      charged := case when r.usage is null then 0 else r.cost end;
      update holds set state = case when r.usage is null then 'released' else 'settled' end,
        cost = charged, closed_at = now() where holds.ref = h.ref returning * into h;
      update balances b set available = b.available + h.amount - charged, held = b.held - h.amount
        where b.org_id = h.org_id and b.currency = h.currency returning b.available into balance;
      insert into entries (org_id, currency, account, amount, kind, ref)
        select h.org_id, h.currency, e.account, e.amount, case when r.usage is null then 'release' else 'settle' end, h.ref
        from (values ('held', -h.amount), ('available', h.amount - charged), ('revenue', charged)) as e(account, amount)
        where e.amount <> 0;
      if r.usage is not null then
        insert into usage_records (ref, org_id, app_id, key_id, request_id, session_id, purpose, model, vendor,
          in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, dims, estimated_reason, stop, cost,
          cache_net_saving, currency)
        select h.ref, h.org_id, u.app_id, h.key_id, h.request_id, u.session_id, u.purpose, u.model, u.vendor,
          u.in_tokens, u.out_tokens, u.cache_read_tokens, u.cache_write_tokens, u.dims, u.estimated_reason, u.stop,
          charged, u.cache_net_saving, h.currency
        from jsonb_to_record(r.usage) as u(app_id text, session_id text, purpose text, model text, vendor text,
          in_tokens bigint, out_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint, dims jsonb,
          estimated_reason text, stop text, cache_net_saving numeric);
      end if;
    end if;
    outcome := h.state;
    return next;
  end loop;
end $fn$;
