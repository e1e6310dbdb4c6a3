-- Usage records by day: makes the days to come, drops those that are past keeping, and with them the closed holds and
-- quota days of that time. Entries of the ledger are kept for ever. Safe on many nodes: one works, the others pass.
create function retain(keep_days integer, ahead_days integer)
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
  delete from usage_records_default where at < oldest;
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from holds where state <> 'held' and closed_at < oldest;
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from quota_days where day < oldest;
  get diagnostics gone = row_count;
  removed := removed + gone;
  return next;
end $fn$;

create index holds_closed on holds (closed_at) where state <> 'held';
