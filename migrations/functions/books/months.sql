-- Closed months.

-- The last of the next organisations with books; null where there are no more.
create or replace function books_page(p_after text, p_most integer)
returns table(upto text, orgs integer) language sql stable as $fn$
  select max(org_id), count(*)::integer from (
    select distinct org_id from counters where org_id > p_after order by org_id limit p_most) x
$fn$;

-- Partitions of transfers that end at a time at the latest, with where they end. On Citus, those of a shard would not be seen.
create or replace function books_parts(p_until timestamptz)
returns table(part regclass, until_at timestamptz) language plpgsql as $fn$
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
create or replace function books_next_month(p_days integer)
returns table(month text, until_at timestamptz, previous text, problem text) language plpgsql as $fn$
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

-- Adds the sums of a part of a month that is being closed.
create or replace function books_stage(p_month text, items jsonb)
returns void language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  insert into books_openings (org_id, month, currency, account, amount)
  select x.org, p_month, x.currency, x.account, x.amount
  from jsonb_to_recordset(items) as x(org text, currency text, account text, amount numeric)
  on conflict (org_id, month, currency, account) do update set amount = excluded.amount;
end $fn$;

-- Closes a month: what is left of it by account, instead of its transfers. False if it is closed already. Citus empties no part of a
-- table unless it is told that this is meant.
create or replace function books_close(p_month text, p_until timestamptz, p_transfers bigint, p_previous text, p_hash text,
  p_path text)
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
