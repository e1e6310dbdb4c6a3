-- Old nodes: may run.
-- The books may be spread over several servers. What belongs to one organisation is in one shard, and what a shard does
-- (hold, grant, return, settle, reap, check, warn, fold, forget) it does by itself: these functions read and write nothing
-- else, so that a shard has a copy of each. On one server there is one shard, and it is this schema.

-- False where the shard is, for as long as the transaction runs. A copy in a shard fails where the shard is not.
create function books_moved() returns boolean language sql immutable as $fn$ select false $fn$;

-- Whose name the rows have that belong to a whole shard and to no organisation.
create function books_key() returns text language sql immutable as $fn$ select '' $fn$;

-- Transfers of an organisation are in the order of these.
create function next_transfer_id() returns bigint language sql volatile as $fn$
  select nextval(pg_get_serial_sequence('transfers', 'id'))
$fn$;

-- What the books take on the disk.
create function books_bytes() returns bigint language sql stable as $fn$
  select sum(pg_total_relation_size(i.relid))::bigint
  from unnest(array['counters', 'allotments', 'transfers', 'usage_records', 'spent_requests', 'holds', 'replies', 'jobs',
    'job_attempts', 'exchange_reports', 'failure_counts', 'usage_rollups', 'first_frame_rollups', 'unit_rollups']) t(name)
  cross join lateral pg_partition_tree(t.name::regclass) i
$fn$;

-- Rows of a whole shard: they are placed as those of organisations are.
alter table nodes add column org_id text not null default '';
alter table nodes drop constraint nodes_pkey, add primary key (id, org_id);
alter table usage_folded add column org_id text not null default '';
drop index usage_folded_is_one_row;
create unique index usage_folded_is_one_row on usage_folded (org_id);
alter table usage_kept add column org_id text not null default '';
alter table usage_stale_hours add column org_id text not null default '';

-- A lease of a node.
create function node_join(p_node text, p_lease_ms double precision) returns void language sql as $fn$
  insert into nodes (id, lease_until) values (p_node, now() + p_lease_ms * interval '1 millisecond')
$fn$;
create function node_renew(p_node text, p_lease_ms double precision) returns boolean language plpgsql as $fn$
begin
  update nodes set lease_until = now() + p_lease_ms * interval '1 millisecond' where id = p_node;
  return found;
end $fn$;
-- It ran out just now, and not long ago: the check of the books lets a minute pass before it tells of allotments.
create function node_leave(p_node text) returns void language sql as $fn$
  update nodes set lease_until = least(lease_until, now() - interval '1 millisecond') where id = p_node
$fn$;

-- Credits an account once an id, at any shard. Gives whether it was new.
create or replace function ledger_topup(topup_id text, topup_org text, topup_currency text, topup_amount numeric)
returns boolean language plpgsql as $fn$
begin
  insert into topups (id, org_id, currency, amount) values (topup_id, topup_org, topup_currency, topup_amount)
  on conflict do nothing;
  if not found then
    return false;
  end if;
  insert into counters as c (org_id, counter, funded) values (topup_org, topup_currency, topup_amount)
  on conflict (org_id, counter) do update set funded = c.funded + excluded.funded;
  if topup_amount > 0 then
    insert into transfers (org_id, id, currency, debit_account, credit_account, amount, kind, ref)
    overriding system value
    values (topup_org, next_transfer_id(), topup_currency, 'funding', 'available', topup_amount, 'topup', topup_id);
  end if;
  return true;
end $fn$;

-- As before; where an allotment is, is told by its columns.
create or replace function ledger_allot(items jsonb)
returns table (item integer, outcome text, counter text, available numeric, others integer, grants jsonb, scarce jsonb,
  balance numeric, stock jsonb)
language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
  c record;
  share numeric;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  perform 1 from nodes n
    where n.id in (select x.node from jsonb_to_recordset(items) as x(node text)) order by n.id for key share;
  insert into counters (org_id, counter)
    select distinct x.org, y.counter
    from jsonb_to_recordset(items) as x(org text, counters jsonb),
      jsonb_to_recordset(x.counters) as y(counter text)
    where y.counter like '%:%' order by 1, 2
    on conflict do nothing;
  for r in
    select distinct x.org, y.counter from jsonb_to_recordset(items) as x(org text, counters jsonb),
      jsonb_to_recordset(x.counters) as y(counter text)
    order by 1, 2
  loop
    perform 1 from counters k where k.org_id = r.org and k.counter = r.counter for update;
  end loop;
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
    stock := '{}';
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
        stock := stock || jsonb_build_object(c.counter, c.free::text);
        if c.free / 8 < c.want then
          scarce := scarce || to_jsonb(c.counter);
        end if;
      end loop;
    end if;
    if outcome = 'granted' then
      for c in select g.key as counter, g.value::numeric as share from jsonb_each_text(grants) g where g.value::numeric <> 0 loop
        update counters k set granted = k.granted + c.share where k.org_id = r.org and k.counter = c.counter;
        insert into allotments as a (org_id, counter, node, granted) values (r.org, c.counter, r.node, c.share)
        on conflict (org_id, counter, node) do update set granted = a.granted + excluded.granted;
        perform ledger_move(r.org, c.counter, r.node, c.share, r.node);
      end loop;
      balance := ledger_balance(r.org, r.cur);
    end if;
    return next;
  end loop;
end $fn$;

-- As before; marks the hours of usage records that come late.
create or replace function ledger_settle(items json, any_opened boolean)
returns table (item integer, outcome text, balance numeric) language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  if any_opened then
    perform ledger_close_holds(items);
  end if;
  for r in
  with x as materialized (
    select * from json_to_recordset(items) as x(item integer, node text, org text, ref text, cur text, key text, req text,
      day date, at double precision, cost numeric, app_id text, session_id text, purpose text, model text, vendor text,
      in_tokens bigint, out_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint, dims jsonb,
      connect_ms integer, ttfb_ms integer, idle_ms integer, total_ms integer, estimated_reason text, stop text,
      cache_net_saving numeric, reply text, told numeric, budgets json, job jsonb)
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
    from judged where not is_duplicate and job is null
    on conflict do nothing
    returning ref
  ), begun as (
    insert into jobs (org_id, id, ref, node, currency, held, budgets, app_id, key_id, end_user_id, request_id, session_id,
      purpose, kind, model, vendor, target_model, vendor_job, is_own, dims, view, created_at, ends_at)
    select org, job->>'id', ref, node, cur, cost, coalesce(budgets::jsonb, '{}'), app_id, key, job->>'endUser',
      coalesce(req, ref), session_id, purpose, job->>'kind', model, vendor, job->>'targetModel', job->>'vendorJob',
      (job->>'isOwn')::boolean, dims, job->'view', to_timestamp(at / 1000),
      to_timestamp((at + (job->>'timeoutMs')::double precision) / 1000)
    from judged where not is_duplicate and job is not null
    on conflict do nothing
    returning ref
  ), charge as materialized (
    select * from judged where ref in (select b.ref from booked b union all select g.ref from begun g)
  ), late as (
    insert into usage_stale_hours (at)
    select distinct date_trunc('hour', to_timestamp(at / 1000), 'UTC') from charge
    where job is null and to_timestamp(at / 1000) < now() - interval '5 minutes'
  ), taken as (
    insert into allotments as a (org_id, counter, node, spent)
    select org, cur, node, sum(cost) from charge group by 1, 2, 3 having sum(cost) <> 0
    union all
    select org, 'tokens:' || day, node, sum(tokens) from charge group by 1, 2, 3 having sum(tokens) <> 0
    union all
    select c.org, u.key, c.node, sum(case u.value when 'money' then c.cost else c.tokens end)
    from charge c, json_each_text(c.budgets) u group by 1, 2, 3
    having sum(case u.value when 'money' then c.cost else c.tokens end) <> 0
    order by 1, 2, 3
    on conflict (org_id, counter, node) do update set spent = a.spent + excluded.spent
  ), moved as (
    insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
    select org, cur, 'node:' || node, case when job is null then 'revenue' else 'job:' || (job->>'id') end, cost,
      case when job is null then 'charge' else 'job' end, ref
    from charge where cost > 0
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

-- As before; marks the hour of a usage record that is taken back late.
create or replace function ledger_close_holds(items json) returns void language plpgsql as $fn$
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
        returning u.at, u.cost, u.in_tokens + u.out_tokens + u.cache_read_tokens + u.cache_write_tokens as tokens
      ), late as (
        insert into usage_stale_hours (at)
        select date_trunc('hour', at, 'UTC') from undone where at < now() - interval '5 minutes'
      ), given as (
        insert into allotments as a (org_id, counter, node, spent)
        select r.org_id, v.counter, r.node, -v.amount
        from undone cross join lateral (
          select r.currency as counter, undone.cost as amount union all select 'tokens:' || r.day, undone.tokens
          union all
          select u.key, case u.value when 'money' then undone.cost else undone.tokens end
          from jsonb_each_text(r.budgets) u) v
        where v.amount <> 0 order by v.counter
        on conflict (org_id, counter, node) do update set spent = a.spent + excluded.spent
      )
      insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
      select r.org_id, r.currency, 'revenue', 'node:' || r.node, undone.cost, 'correct', r.ref
      from undone where undone.cost > 0;
    end if;
  end loop;
end $fn$;

-- Usage records that are added or taken back late mark their hours themselves.
drop trigger usage_records_come_late on usage_records;
drop trigger usage_records_go_late on usage_records;
drop function usage_hour_is_stale();

-- As before; what is folded of a whole shard has its name.
create or replace function usage_fold_sums_of_hour(p_hour timestamptz, p_boundaries double precision[]) returns void
language plpgsql as $fn$
declare
  until timestamptz := p_hour + interval '1 hour';
begin
  delete from usage_stale_hours where at = p_hour;
  delete from usage_rollups where step = 'hour' and at = p_hour;
  delete from first_frame_rollups where step = 'hour' and at = p_hour;
  insert into usage_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, currency, exchanges,
    estimated, in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, cost, cache_net_saving)
  select 'hour', coalesce(org_id, books_key()), p_hour, coalesce(app_id, ''), coalesce(key_id, ''), model, vendor, purpose,
    stop, currency, count(*), count(estimated_reason), sum(in_tokens), sum(out_tokens), sum(cache_read_tokens),
    sum(cache_write_tokens), sum(cost), sum(cache_net_saving)
  from usage_records where at >= p_hour and at < until
  group by grouping sets ((org_id, app_id, key_id, model, vendor, purpose, stop, currency),
    (model, vendor, purpose, stop, currency));
  insert into first_frame_rollups (step, org_id, at, model, vendor, up_to_ms, exchanges)
  select 'hour', coalesce(org_id, books_key()), p_hour, model, vendor, bucket, count(*)
  from (select org_id, model, vendor, first_frame_bucket(ttfb_ms, p_boundaries) as bucket
    from usage_records where at >= p_hour and at < until and ttfb_ms is not null) x
  group by grouping sets ((org_id, model, vendor, bucket), (model, vendor, bucket));
end $fn$;
create or replace function usage_fold_hour(p_hour timestamptz, p_boundaries double precision[]) returns void
language plpgsql as $fn$
begin
  perform usage_fold_sums_of_hour(p_hour, p_boundaries);
  delete from unit_rollups where step = 'hour' and at = p_hour;
  insert into unit_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, unit, amount)
  select 'hour', coalesce(org_id, books_key()), p_hour, coalesce(app_id, ''), coalesce(key_id, ''), model, vendor, purpose,
    stop, d.key, sum(d.value::numeric)
  from usage_records cross join lateral jsonb_each_text(dims) d
  where at >= p_hour and at < p_hour + interval '1 hour'
  group by grouping sets ((org_id, app_id, key_id, model, vendor, purpose, stop, d.key),
    (model, vendor, purpose, stop, d.key));
end $fn$;

-- Retention, as before, in two: what a shard forgets, and the partitions of all.
create function retain_books(keep_days integer) returns bigint
language plpgsql set enable_seqscan = off set jit = off as $fn$
declare
  oldest date := (now() at time zone 'UTC')::date - keep_days;
  removed bigint;
  gone bigint;
begin
  if books_moved() or not pg_try_advisory_xact_lock(hashtext('weir.retain' || books_key())) then
    return 0;
  end if;
  delete from usage_kept;
  insert into usage_kept (since) values (oldest::timestamp at time zone 'UTC');
  delete from holds where state <> 'open' and coalesce(reaped_at, opened_at) < oldest;
  get diagnostics removed = row_count;
  -- A month is over 31 days after it began.
  delete from counters c
  where (c.counter like 'tokens:%' or c.counter like 'budget:%')
    and right(c.counter, 10) collate "C" < oldest::text
    and (c.counter like 'tokens:%' or right(c.counter, 10) collate "C" < (current_date - 32)::text)
    and not exists (select from allotments a where a.org_id = c.org_id and a.counter = c.counter);
  get diagnostics gone = row_count;
  return removed + gone;
end $fn$;
create or replace function retain(keep_days integer, ahead_days integer)
returns table (made integer, dropped integer, removed bigint) language plpgsql set enable_seqscan = off set jit = off as $fn$
declare
  d date;
  part record;
  oldest date := (now() at time zone 'UTC')::date - keep_days;
  oldest_at timestamptz := oldest;
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
  delete from usage_records_default where at < oldest_at;
  get diagnostics removed = row_count;
  return next;
end $fn$;

-- As before; how replies are stored comes with the table, because Citus does not change it later.
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

-- As before; whether an organisation has books is asked of each by itself, wherever they are.
create or replace function retain_tenants(keep_days integer, p_most integer) returns bigint
language plpgsql set enable_seqscan = off set jit = off as $fn$
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
    elsif t.kind = 'app' then
      delete from app_keys where app_id = t.id;
      delete from app_configs where app_id = t.id;
    end if;
    delete from tenants where kind = t.kind and id = t.id;
    gone := gone + 1;
  end loop;
  return gone;
end $fn$;

-- Counters that have reached a threshold of which nobody was warned. Each item names a counter and its thresholds:
-- {org, counter, thresholds: [{percent, amount}]}.
create function budgets_near(items jsonb)
returns table (org text, counter text, percent integer, used numeric) language sql stable as $fn$
  select k.org_id, k.counter, max(t.percent), k.used
  from (
    select c.org_id, c.counter, c.warned, x.thresholds, c.granted - coalesce((
      select sum(a.granted - a.spent) from allotments a where a.org_id = c.org_id and a.counter = c.counter), 0) as used
    from jsonb_to_recordset(items) as x(org text, counter text, thresholds jsonb)
    join counters c on c.org_id = x.org and c.counter = x.counter) k
  cross join lateral jsonb_to_recordset(k.thresholds) as t(percent integer, amount numeric)
  where k.used > 0 and t.amount <= k.used and t.percent > coalesce(k.warned, 0)
  group by k.org_id, k.counter, k.used
  order by k.org_id, k.counter
$fn$;

-- Warns of one, at any shard, and writes it to the audit log; false if somebody else has warned.
create function budget_warn(p_org text, p_counter text, p_percent integer, p_warning jsonb) returns boolean
language plpgsql as $fn$
begin
  update counters set warned = p_percent, warning = p_warning, warned_at = now(), mail_after = now()
  where org_id = p_org and counter = p_counter and coalesce(warned, 0) < p_percent;
  if not found then
    return false;
  end if;
  perform audit_append('budget.near', p_org, 'service', 'gateway', p_warning);
  return true;
end $fn$;

-- The dimensions of a usage record with its times, from its columns: a row has another type in each shard.
create function usage_dims(dims jsonb, connect_ms integer, ttfb_ms integer, idle_ms integer, total_ms integer)
returns jsonb language sql immutable as $fn$
  select dims || jsonb_strip_nulls(jsonb_build_object('obs_connect_ms', connect_ms, 'obs_ttfb_ms', ttfb_ms,
    'obs_idle_ms', idle_ms, 'obs_total_ms', total_ms))
$fn$;

-- Before a vendor is asked for a job, and when its call has ended.
create function job_attempt_begin(p_org text, p_ref text, p_node text, p_model text) returns void language sql as $fn$
  insert into job_attempts (org_id, ref, node, model) values (p_org, p_ref, p_node, p_model) on conflict do nothing
$fn$;
create function job_attempt_end(p_org text, p_ref text) returns void language sql as $fn$
  delete from job_attempts where org_id = p_org and ref = p_ref
$fn$;

-- A mail about a warning has left.
create function budget_mail_sent(p_org text, p_counter text, p_percent integer) returns void language sql as $fn$
  update counters set mail_after = null where org_id = p_org and counter = p_counter and warned = p_percent
$fn$;

-- What a shard does itself begins by making sure that the shard is here.
alter function ledger_spent(json, double precision) volatile;
do $each$
declare
  f record;
  body text;
begin
  for f in
    select p.oid, p.proname, l.lanname, pg_get_functiondef(p.oid) as definition, p.prosrc
    from pg_proc p join pg_language l on l.oid = p.prolang
    where p.pronamespace = current_schema()::regnamespace and p.proname in ('ledger_return', 'ledger_checkpoint',
      'ledger_forbid_checkpoint', 'ledger_release', 'ledger_spent', 'ledger_reap', 'node_join', 'node_renew', 'node_leave',
      'jobs_take', 'job_goes_on', 'job_end', 'job_attempt_begin', 'job_attempt_end', 'budget_mails_take',
      'budget_mail_sent', 'report_exchanges', 'usage_fold', 'retain_rollups',
      'retain_reports', 'retain_jobs', 'retain_job_attempts')
  loop
    body := case f.lanname when 'sql' then E'\n  select books_moved();' || f.prosrc
      else regexp_replace(f.prosrc, '\nbegin\n',
        E'\nbegin\n  if books_moved() then raise exception ''the books have moved''; end if;\n') end;
    execute replace(f.definition, f.prosrc, body);
  end loop;
end $each$;
