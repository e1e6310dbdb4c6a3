-- Old nodes: may run.
-- Retention and the reaper cost what there is to do, and not what there is: what they look for has an index, and the
-- indexes are used although a plan that knows no values, or old statistics, would read the whole table. Statements that
-- find nothing to do are not compiled, which takes hundreds of milliseconds.

-- The last ten characters of a counter of tokens or of a budget are the day on which it began.
create index counters_by_day on counters ((right(counter, 10) collate "C"))
  where counter like 'tokens:%' or counter like 'budget:%';
create index holds_reaped on holds (coalesce(reaped_at, opened_at)) where state <> 'open';

-- A closed organisation that has transfers is kept for ever: it is not looked at again.
alter table tenants add column has_books boolean not null default false;
update tenants t set has_books = true
  where t.status = 'closed' and t.kind = 'org' and exists (select from transfers x where x.org_id = t.id);
drop index tenants_closed;
create index tenants_closed on tenants (changed_at) where status = 'closed' and not has_books;

create or replace function retain_tenants(keep_days integer, p_most integer) returns bigint
language plpgsql set enable_seqscan = off set jit = off as $fn$
declare
  gone bigint;
begin
  with candidates as materialized (
    select kind, id from tenants t
    where t.status = 'closed' and not t.has_books and t.changed_at < now() - make_interval(days => keep_days)
    order by t.changed_at limit p_most for update skip locked
  ), page as materialized (
    select c.kind, c.id, c.kind = 'org' and exists (select from transfers x where x.org_id = c.id) as has_books
    from candidates c where c.kind <> 'org' or not exists (select from tenants x where x.org_id = c.id and x.kind <> 'org')
  ), kept as (
    update tenants t set has_books = true from page p where p.has_books and t.kind = p.kind and t.id = p.id
  ), keys_gone as (
    delete from app_keys k using page p where p.kind = 'app' and k.app_id = p.id
  ), configs_gone as (
    delete from app_configs a using page p where p.kind = 'app' and a.app_id = p.id
  ), budgets_gone as (
    delete from org_budgets b using page p where p.kind = 'org' and not p.has_books and b.org_id = p.id
  )
  delete from tenants t using page p where not p.has_books and t.kind = p.kind and t.id = p.id;
  get diagnostics gone = row_count;
  return gone;
end $fn$;

-- As before; counters are found by their day.
create or replace function retain(keep_days integer, ahead_days integer)
returns table (made integer, dropped integer, removed bigint) language plpgsql set enable_seqscan = off set jit = off as $fn$
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
  -- A month is over 31 days after it began.
  delete from counters c
  where (c.counter like 'tokens:%' or c.counter like 'budget:%')
    and right(c.counter, 10) collate "C" < oldest::text
    and (c.counter like 'tokens:%' or right(c.counter, 10) collate "C" < (current_date - 32)::text)
    and not exists (select from allotments a where a.org_id = c.org_id and a.counter = c.counter);
  get diagnostics gone = row_count;
  removed := removed + gone;
  return next;
end $fn$;

alter function ledger_reap(integer) set enable_seqscan = off;
alter function ledger_reap(integer) set jit = off;
