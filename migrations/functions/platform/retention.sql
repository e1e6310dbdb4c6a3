-- Partitions, and removal of rows that are past keeping. Partitions are dropped before others are made: to attach one locks the default
-- partition, and a call that has read another one and waits for that would wait for a transaction that waits for it.

-- Drops partitions that are past keeping, and makes those of days ahead. Exports that are not done keep the records that they need.
create or replace function retain(keep_days integer, ahead_days integer)
returns table(made integer, dropped integer, removed bigint) language plpgsql set enable_seqscan to 'off' set jit to 'off' as $fn$
declare
  d date;
  part record;
  oldest date := (now() at time zone 'UTC')::date - keep_days;
  oldest_at timestamptz;
begin
  oldest := least(oldest, (
    select min(p.at at time zone 'UTC')::date - 1 from export_positions p where p.records = 'usage' and p.is_active));
  oldest_at := oldest::timestamp at time zone 'UTC';
  made := 0;
  dropped := 0;
  removed := 0;
  if not pg_try_advisory_xact_lock(hashtext('weir.retain')) then
    return next;
    return;
  end if;
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'usage_records'::regclass and c.relname ~ '^usage_records_\d{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < oldest
  loop
    execute format('drop table %I', part.relname);
    dropped := dropped + 1;
  end loop;
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
  delete from usage_records_default where at < oldest_at;
  get diagnostics removed = row_count;
  return next;
end $fn$;

-- Drops partitions whose replies are past keeping, and makes those of hours ahead.
create or replace function retain_replies(keep_s double precision, ahead_hours integer)
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
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'replies'::regclass and c.relname ~ '^replies_\d{10}$'
      and right(c.relname, 10) <= to_char(oldest at time zone 'UTC' - interval '1 hour', 'YYYYMMDDHH24')
  loop
    execute format('drop table %I', part.relname);
    dropped := dropped + 1;
  end loop;
  for h in select generate_series(this_hour, this_hour + ahead_hours * interval '1 hour', '1 hour') loop
    if to_regclass('replies_' || to_char(h, 'YYYYMMDDHH24')) is null then
      begin
        execute format('create table %I (like replies including storage)', 'replies_' || to_char(h, 'YYYYMMDDHH24'));
        execute format('alter table replies attach partition %I for values from (%L) to (%L)',
          'replies_' || to_char(h, 'YYYYMMDDHH24'), h at time zone 'UTC', (h + interval '1 hour') at time zone 'UTC');
      exception when check_violation then
        -- The default partition already has replies of this hour; they stay there.
        null;
      end;
    end if;
  end loop;
  delete from replies_default where at < oldest;
  return dropped;
end $fn$;

-- Drops partitions whose ids are refused as too old, and makes those of days ahead.
create or replace function retain_spent_days(keep_days integer, ahead_days integer)
returns integer language plpgsql as $fn$
declare
  d date;
  today date := (now() at time zone 'UTC')::date;
  part record;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('weir.retain_spent_days')) then
    return 0;
  end if;
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'spent_days'::regclass and c.relname ~ '^spent_days_\d{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < today - keep_days - 1
  loop
    execute format('drop table %I', part.relname);
    dropped := dropped + 1;
  end loop;
  for d in select generate_series(today, today + ahead_days, '1 day')::date loop
    if to_regclass('spent_days_' || to_char(d, 'YYYYMMDD')) is null then
      begin
        execute format('create table %I partition of spent_days for values from (%L) to (%L)',
          'spent_days_' || to_char(d, 'YYYYMMDD'), d, d + 1);
      exception when check_violation then
        -- The default partition already has ids of this day; they stay there.
        null;
      end;
    end if;
  end loop;
  return dropped;
end $fn$;

-- Drops partitions of days whose responses are all past keeping and have neither replays nor objects, and makes those of days ahead.
create or replace function retain_response_days(ahead_days integer)
returns integer language plpgsql as $fn$
declare
  d date;
  today date := (now() at time zone 'UTC')::date;
  part record;
  is_used boolean;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('weir.retain_response_days')) then
    return 0;
  end if;
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'responses'::regclass and c.relname ~ '^responses_\d{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < today - 1
  loop
    execute format('select exists (select from %I where erase_at >= now() or replied_at is not null or object_id is not null)', part.relname) into is_used;
    if not is_used then
      execute format('drop table %I', part.relname);
      dropped := dropped + 1;
    end if;
  end loop;
  for d in select generate_series(today - 1, today + ahead_days, '1 day')::date loop
    if to_regclass('responses_' || to_char(d, 'YYYYMMDD')) is null then
      begin
        execute format('create table %I (like responses including storage including constraints)', 'responses_' || to_char(d, 'YYYYMMDD'));
        execute format('alter table responses attach partition %I for values from (%L) to (%L)',
          'responses_' || to_char(d, 'YYYYMMDD'), d, d + 1);
      exception when check_violation then
        -- The default partition already has responses of this day; they stay there.
        null;
      end;
    end if;
  end loop;
  return dropped;
end $fn$;

-- Drops partitions of months that all shards have closed, and makes those of transfers ahead.
create or replace function retain_months(closed_until timestamptz)
returns integer language plpgsql as $fn$
declare
  m timestamp;
  part record;
  dropped integer := 0;
  -- Months up to this one have their parts, or their transfers are in the default partition.
  made_until timestamptz := (select max(p.until_at) from books_parts('infinity') p);
begin
  if not pg_try_advisory_xact_lock(hashtext('weir.retain_months')) then
    return 0;
  end if;
  for part in select p.part from books_parts(closed_until) p loop
    execute format('drop table %s', part.part);
    dropped := dropped + 1;
  end loop;
  for m in
    select generate_series(date_trunc('month', now() at time zone 'UTC'),
      date_trunc('month', now() at time zone 'UTC') + interval '2 months', '1 month')
  loop
    if to_regclass('transfers_' || to_char(m, 'YYYYMM')) is null and m at time zone 'UTC' >= made_until then
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
  return dropped;
end $fn$;

-- Each partition of transfers has its own key, and checks its kinds.
create or replace function books_complete_part(p_part text)
returns void language plpgsql as $fn$
begin
  execute format('alter table %I add primary key (org_id, id)', p_part);
  execute format('alter table %I add constraint transfers_kind_check
    check (kind in (''topup'', ''allot'', ''return'', ''charge'', ''correct'', ''job'', ''opening''))', p_part);
end $fn$;

-- Removes tenants that were closed long ago. Whether an organisation has books is asked of each by itself, wherever they are.
create or replace function retain_tenants(keep_days integer, p_most integer)
returns bigint language plpgsql set enable_seqscan to 'off' set jit to 'off' as $fn$
declare
  t record;
  has_no_books boolean;
  gone bigint := 0;
begin
  for t in
    select c.kind, c.id from tenants c
    where c.status = 'closed' and not c.has_books and c.changed_at < now() - make_interval(days => keep_days)
      and (c.kind <> 'org' or not exists (select from tenants x where x.org_id = c.id and x.kind <> 'org'))
    order by c.changed_at limit p_most for update skip locked
  loop
    if t.kind = 'org' then
      perform from transfers x where x.org_id = t.id limit 1;
      if found then
        update tenants set has_books = true where kind = t.kind and id = t.id;
        continue;
      end if;
      delete from org_budgets where org_id = t.id;
      delete from org_webhooks where org_id = t.id;
    elsif t.kind = 'app' then
      delete from key_uses where key_id in (select id from app_keys where app_id = t.id);
      delete from app_keys where app_id = t.id;
      delete from app_configs where app_id = t.id;
    end if;
    delete from tenants where kind = t.kind and id = t.id;
    gone := gone + 1;
  end loop;
  return gone;
end $fn$;

-- Removes client reports, sessions and months of end users that are past keeping, at most so many of each.
create or replace function retain_runtime(keep_days integer, p_most integer)
returns bigint language plpgsql as $fn$
declare
  oldest timestamptz := now() - make_interval(days => keep_days);
  removed bigint := 0;
  gone bigint;
begin
  delete from client_usage_records where ctid = any(array(
    select ctid from client_usage_records where recorded_at < oldest limit p_most));
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from sessions where ctid = any(array(select ctid from sessions where last_seen_at < oldest limit p_most));
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from plan_end_users where ctid = any(array(
    select ctid from plan_end_users where month < to_char(oldest at time zone 'UTC', 'YYYY-MM') limit p_most));
  get diagnostics gone = row_count;
  return removed + gone;
end $fn$;

-- Removes logins, codes and links that have ended.
create or replace function retain_accounts()
returns bigint language plpgsql as $fn$
declare
  removed bigint := 0;
  gone bigint;
begin
  delete from one_time_codes where expires_at < now() - interval '1 day' and hour_started_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from device_codes where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from sso_flows where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from sso_links where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from oauth_requests where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  -- A used refresh token is kept until it expires: it is noticed when it comes again.
  delete from client_secrets where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  -- Clients keep what they registered, and some cannot register again.
  delete from oauth_clients where coalesce(used_at, made_at) < now() - case when used_at is null then interval '1 day' else interval '1 year' end;
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from login_codes where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from tool_flows where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from tool_clients where expires_at < now();
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from logins l where l.started_at < now() - interval '1 day'
    and not exists (select from refresh_tokens t where t.login_id = l.id and t.expires_at > now() - interval '1 day');
  get diagnostics gone = row_count;
  return removed + gone;
end $fn$;

-- Forgets windows that can be written no more, because their records are gone, and lists for windows that have landed.
create or replace function retain_exports(keep_days integer, p_most integer)
returns bigint language sql as $fn$
  with gone as (
    delete from export_windows where (export, records, shard, name) in (
      select w.export, w.records, w.shard, w.name from export_windows w
      where w.landed_at is not null and w.until_at < now() - make_interval(days => keep_days) limit p_most)
    returning 1)
  select count(*) from gone
$fn$;

-- Forgets deliveries that have ended, and gives up those of webhooks that no node knows.
create or replace function retain_deliveries(keep_days integer, p_most integer)
returns bigint language plpgsql as $fn$
declare
  gone bigint;
begin
  update webhook_deliveries set state = 'failed', ended_at = now(), problem = coalesce(problem, 'the webhook is gone')
  where state = 'pending' and gives_up_at < now() - interval '1 hour' and next_at < now();
  delete from webhook_deliveries where (owner, webhook, event_id) in (
    select d.owner, d.webhook, d.event_id from webhook_deliveries d
    where d.state <> 'pending' and d.ended_at < now() - make_interval(days => keep_days) order by d.ended_at limit p_most);
  get diagnostics gone = row_count;
  return gone;
end $fn$;

-- Removes what is past keeping, at most so many; tells how many rows it removed.
create or replace function retain_ended_calls(keep_days integer, most integer)
returns integer language plpgsql as $fn$
declare
  removed integer;
begin
  delete from ended_calls where (at, vendor, model, tier) in (
    select at, vendor, model, tier from ended_calls where at < now() - keep_days * interval '1 day' order by at limit most);
  get diagnostics removed = row_count;
  return removed;
end $fn$;

-- Removes secrets of webhooks whose time has ended.
create or replace function retain_former_secrets(p_most integer)
returns bigint language plpgsql as $fn$
declare
  gone bigint;
begin
  delete from org_webhook_former_secrets where ctid in (
    select ctid from org_webhook_former_secrets where valid_until <= now() limit p_most);
  get diagnostics gone = row_count;
  return gone;
end $fn$;
