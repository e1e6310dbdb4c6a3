-- Old nodes: may run.
-- Months of transfers that are closed leave in files, and an opening transfer for each account is what is left of them. So transfers
-- are in partitions by month; what was there before is the first. See `src/store/before-migrations.ts` for what is done before,
-- without keeping anybody waiting.
create function book_table(p_name text) returns regclass language sql stable as $fn$ select to_regclass(p_name) $fn$;

-- Each partition of transfers has its own key, and checks its kinds.
create function books_complete_part(p_part text) returns void language plpgsql as $fn$
begin
  execute format('alter table %I add primary key (org_id, id)', p_part);
  execute format('alter table %I add constraint transfers_kind_check
    check (kind in (''topup'', ''allot'', ''return'', ''charge'', ''correct'', ''job'', ''opening''))', p_part);
end $fn$;

drop view ledger_entries;
do $each$
declare
  last_id bigint := nextval(pg_get_serial_sequence('transfers', 'id'));
  is_spread boolean := false;
  until text;
begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    is_spread := exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass);
  end if;
  if not exists (select from pg_constraint where conrelid = 'transfers'::regclass and conname = 'transfers_first_until') then
    execute format('alter table transfers add constraint transfers_first_until check (at < %L)',
      to_char(date_trunc('month', now() at time zone 'UTC') + interval '2 months', 'YYYY-MM-DD') || ' 00:00:00+00');
  end if;
  select substring(pg_get_constraintdef(oid) from '''([^'']+)''') into until
  from pg_constraint where conrelid = 'transfers'::regclass and conname = 'transfers_first_until';
  alter table transfers rename to transfers_first;
  -- Citus leaves it as it is; there, each shard numbers its own.
  if not is_spread then
    alter table transfers_first alter column id drop identity;
    create sequence transfers_id_seq;
    perform setval('transfers_id_seq', last_id);
  end if;
  create table transfers (
    org_id text not null,
    id bigint not null,
    currency text not null,
    debit_account text not null,
    credit_account text not null,
    amount numeric(30, 10) not null constraint transfers_amount_check check (amount > 0),
    kind text not null,
    ref text not null,
    at timestamptz not null default now()
  ) partition by range (at);
  if is_spread then
    perform create_distributed_table('transfers', 'org_id', colocate_with => 'counters');
  else
    alter table transfers alter column id set default nextval('transfers_id_seq');
  end if;
  execute format('alter table transfers attach partition transfers_first for values from (minvalue) to (%L)', until);
  create index transfers_by_at on transfers using brin (at) with (pages_per_range = 16, autosummarize = on);
  create table transfers_default partition of transfers default;
  perform books_complete_part('transfers_default');
end $each$;

create view ledger_entries as
  select t.org_id, t.id, t.id * 2 + leg.place as number, t.at, t.kind, leg.account, leg.amount, t.currency, t.ref
  from transfers t cross join lateral (values
    (0, case when t.debit_account like 'node:%' then 'available' else t.debit_account end, -t.amount),
    (1, case when t.credit_account like 'node:%' then 'available' else t.credit_account end, t.amount))
    as leg(place, account, amount)
  where t.kind in ('topup', 'charge', 'correct')
    or (t.kind = 'opening' and leg.account <> 'opening');

-- Months that are closed; each has the hash of the one before.
create table books_months (
  org_id text not null default books_key(),
  month text not null,
  until_at timestamptz not null,
  transfers bigint not null,
  previous text not null,
  hash text not null,
  path text not null,
  closed_at timestamptz not null default now(),
  primary key (org_id, month)
);
-- What a month that is being closed leaves, by account.
create table books_openings (
  org_id text not null,
  month text not null,
  currency text not null,
  account text not null,
  amount numeric not null,
  primary key (org_id, month, currency, account)
);

-- Partitions of transfers that end at a time at the latest, with where they end. On Citus, those of a shard would not be seen.
create function books_parts(p_until timestamptz) returns table (part regclass, until_at timestamptz)
language plpgsql as $fn$
begin
  -- Not a setting of the function: a role that is no superuser may not make one with a setting that it does not know.
  perform set_config('citus.override_table_visibility', 'off', true);
  return query select p.part, p.until_at from (
    select i.inhrelid::regclass as part,
      substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \(''([^'']+)''\)')::timestamptz as until_at
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = book_table('transfers')) p
  where p.until_at <= p_until;
end $fn$;

-- The next month to close, if it ended so many days ago; what keeps it open, if anything does.
create function books_next_month(p_days integer)
returns table (month text, until_at timestamptz, previous text, problem text) language plpgsql as $fn$
declare
  closed timestamptz;
begin
  select max(m.until_at) into closed from books_months m where m.org_id = books_key();
  select min(p.until_at) into until_at from books_parts(now() - make_interval(days => p_days)) p
  where p.until_at > coalesce(closed, '-infinity');
  if until_at is null then
    return;
  end if;
  month := to_char((until_at - interval '1 day') at time zone 'UTC', 'YYYY-MM');
  select m.hash into previous from books_months m where m.org_id = books_key() order by m.until_at desc limit 1;
  previous := coalesce(previous, '');
  if exists (select from holds h where h.state = 'open' and h.opened_at < until_at) then
    problem := 'exchanges of the month are not settled';
  end if;
  return next;
end $fn$;

create function books_stage(p_month text, items jsonb) returns void language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  insert into books_openings (org_id, month, currency, account, amount)
  select x.org, p_month, x.currency, x.account, x.amount
  from jsonb_to_recordset(items) as x(org text, currency text, account text, amount numeric)
  on conflict (org_id, month, currency, account) do update set amount = excluded.amount;
end $fn$;

-- Closes a month: what is left of it by account, instead of its transfers. False if it is closed already. Citus empties no part of a
-- table unless it is told that this is meant.
create function books_close(p_month text, p_until timestamptz, p_transfers bigint, p_previous text, p_hash text, p_path text)
returns boolean language plpgsql as $fn$
declare
  part record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  perform set_config('citus.enable_manual_changes_to_shards', 'on', true);
  perform pg_advisory_xact_lock(hashtext('weir.books_close' || books_key()));
  perform from books_months m where m.org_id = books_key() and m.until_at >= p_until;
  if found then
    return false;
  end if;
  -- Their ids are below those of the transfers that stay, so that they come before them.
  insert into transfers (org_id, id, currency, debit_account, credit_account, amount, kind, ref, at)
  select o.org_id, f.first_id - row_number() over (partition by o.org_id order by o.currency, o.account), o.currency,
    case when o.amount > 0 then 'opening' else o.account end, case when o.amount > 0 then o.account else 'opening' end,
    abs(o.amount), 'opening', p_path, p_until
  from books_openings o
  cross join lateral (
    select least((select min(t.id) from transfers t where t.org_id = o.org_id and t.at >= p_until),
      (select max(t.id) + 1 from transfers t where t.org_id = o.org_id and t.at < p_until)) as first_id) f
  where o.month = p_month and o.amount <> 0;
  for part in select p.part from books_parts(p_until) p loop
    execute format('truncate %s', part.part);
  end loop;
  delete from transfers where at < p_until;
  delete from books_openings where month = p_month;
  insert into books_months (org_id, month, until_at, transfers, previous, hash, path)
  values (books_key(), p_month, p_until, p_transfers, p_previous, p_hash, p_path);
  perform event_append(null, 'books.closed', p_month, jsonb_build_object('month', p_month, 'transfers', p_transfers, 'hash', p_hash,
    'path', p_path));
  return true;
end $fn$;

-- Makes partitions of transfers ahead, and drops those of months that all shards have closed.
create function retain_months(closed_until timestamptz) returns integer language plpgsql as $fn$
declare
  m timestamp;
  part record;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('weir.retain_months')) then
    return 0;
  end if;
  for m in
    select generate_series(date_trunc('month', now() at time zone 'UTC'),
      date_trunc('month', now() at time zone 'UTC') + interval '2 months', '1 month')
  loop
    if to_regclass('transfers_' || to_char(m, 'YYYYMM')) is null and m at time zone 'UTC' >= (
      select max(p.until_at) from books_parts('infinity') p) then
      begin
        execute format('create table %I partition of transfers for values from (%L) to (%L)', 'transfers_' || to_char(m, 'YYYYMM'),
          to_char(m, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(m + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00');
        perform books_complete_part('transfers_' || to_char(m, 'YYYYMM'));
      exception when check_violation then
        -- The default partition already has transfers of this month; they stay there.
        null;
      end;
    end if;
  end loop;
  for part in select p.part from books_parts(closed_until) p loop
    execute format('drop table %s', part.part);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $fn$;
do $each$ begin perform retain_months(null); end $each$;

-- As before; where months are closed, what is left of them counts, and what they had is not looked for.
do $each$
declare
  body text := pg_get_functiondef('ledger_audit(text, text)'::regprocedure);
begin
  body := replace(body, 'coalesce(a.account, '''') <> ''revenue''', 'coalesce(a.account, '''') not in (''revenue'', ''opening'')');
  body := replace(body, E'and u.source = ''gateway''\n    and u.cost <> coalesce(t.cost, 0)', E'and u.source = ''gateway''
    and u.at > coalesce((select max(m.until_at) from books_months m), ''-infinity'') + interval ''5 minutes''
    and u.cost <> coalesce(t.cost, 0)');
  body := replace(body, E'\n  union all\n  select ''a hold has outlived its lease''', E'
  union all
  select ''an opening has no counterpart'', a.org_id || '' '' || a.currency from account a where a.account = ''opening'' and a.amount <> 0
  union all
  select ''a closed month does not follow the one before'', m.month
  from (select k.month, k.previous, lag(k.hash, 1, '''') over (order by k.until_at) as expected
    from books_months k where k.org_id = books_key()) m
  where p_upto is null and m.previous <> m.expected
  union all
  select ''a hold has outlived its lease''');
  execute body;
end $each$;

-- Where the books are spread already, these are placed as the other tables of the books are.
do $spread$ begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    if exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) then
      perform create_distributed_table('books_months', 'org_id', colocate_with => 'counters');
      perform create_distributed_table('books_openings', 'org_id', colocate_with => 'counters');
    end if;
  end if;
end $spread$;
