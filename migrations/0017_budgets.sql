-- Budgets are counters too: `budget:ID:UNIT/PERIOD:SUBJECT:DAY`, where the day is the first of the period. Only money
-- is named without a colon. An exchange names the budgets that cover it, and whether it is counted there by its cost or by its tokens.
alter table holds add column budgets jsonb;

-- Money is moved between an account and a node, by its sign; other counters have no accounts.
create or replace function ledger_move(p_org text, p_counter text, p_node text, p_amount numeric, p_ref text)
returns void language sql as $fn$
  insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
  select p_org, p_counter, case when p_amount > 0 then 'available' else 'node:' || p_node end,
    case when p_amount > 0 then 'node:' || p_node else 'available' end, abs(p_amount),
    case when p_amount > 0 then 'allot' else 'return' end, p_ref
  where p_amount <> 0 and p_counter not like '%:%'
$fn$;

-- Grants allotments to nodes, for many holds in one round trip and one commit. Each item names a node and counters:
-- {item, node, org, cur, counters: [{counter, need, want, limit}]}. All its counters have what it needs, or it gets nothing.
-- Of a counter it gets what it wants, but no more than an eighth of what is available, and no less than it needs.
-- Outcomes: granted (grants: by counter; scarce: counters of which an eighth is less than was wanted; balance: of cur) | short (of counter: available, and how many other
-- nodes have some) | lapsed (the node was taken for dead).
create or replace function ledger_allot(items jsonb)
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
    where y.counter like '%:%' order by 1, 2
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
create or replace function ledger_return(items jsonb) returns void language plpgsql as $fn$
declare
  r record;
begin
  insert into counters (org_id, counter)
    select x.org, x.counter from jsonb_to_recordset(items) as x(org text, counter text) where x.counter like '%:%'
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

-- Settles many exchanges in one commit: usage record, charge, what the node's allotments have spent, the caller's
-- request id and its reply. Settling again changes nothing and tells the balance of the kept reply; what a reaper settled
-- is replaced. Outcomes: settled | duplicate (the request id was spent by another exchange: nothing is billed); the balance
-- is the organisation's. told: the settlement comes late, and the caller was told this balance in this reply.
create or replace function ledger_settle(items json, any_opened boolean)
returns table (item integer, outcome text, balance numeric) language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
begin
  if any_opened then
    perform ledger_close_holds(items);
  end if;
  for r in
  with x as materialized (
    select * from json_to_recordset(items) as x(item integer, node text, org text, ref text, cur text, key text, req text,
      day date, at double precision, cost numeric, app_id text, session_id text, purpose text, model text, vendor text,
      in_tokens bigint, out_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint, dims jsonb,
      connect_ms integer, ttfb_ms integer, idle_ms integer, total_ms integer, estimated_reason text, stop text,
      cache_net_saving numeric, reply text, told numeric, budgets json)
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
    from judged where not is_duplicate
    on conflict do nothing
    returning ref
  ), charge as materialized (
    select * from judged where ref in (select b.ref from booked b)
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
    select org, cur, 'node:' || node, 'revenue', cost, 'charge', ref from charge where cost > 0
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

-- Forgets open holds that are about to be settled, and takes back what a reaper settled of them.
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
        returning u.cost, u.in_tokens + u.out_tokens + u.cache_read_tokens + u.cache_write_tokens as tokens
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

-- Writes what running exchanges would settle now. At the first checkpoint of an exchange its request id is spent; where
-- it is already, the exchange has ended meanwhile or is a second one, and nothing is written.
create or replace function ledger_checkpoint(items json) returns void language plpgsql as $fn$
begin
  with x as materialized (
    select * from json_to_recordset(items) as x(node text, org text, ref text, cur text, key text, req text, first boolean,
      amount numeric, day date, cost numeric, usage jsonb, budgets jsonb)
  ), fresh as (
    insert into spent_requests (org_id, key_id, request_id, ref)
    select org, key, req, ref from x where first and req is not null order by 1, 2, 3
    on conflict do nothing
    returning org_id, ref
  ), opened as (
    insert into holds (org_id, ref, node, currency, key_id, request_id, spends, amount, day, cost, usage,
      budgets)
    select x.org, x.ref, x.node, x.cur, x.key, coalesce(x.req, x.ref), x.req is not null, x.amount, x.day, x.cost,
      x.usage, x.budgets
    from x left join fresh f on f.org_id = x.org and f.ref = x.ref
    where x.first and (x.req is null or f.ref is not null)
    on conflict do nothing
  )
  update holds h set cost = x.cost, usage = x.usage
  from x where h.org_id = x.org and h.ref = x.ref and h.state = 'open';
end $fn$;

-- Settles what dead nodes left, at its last checkpoint, then takes back their allotments. Nodes may reap at once: each
-- dead node is closed by one of them. Nodes are found through indexes, however many holds and allotments there are.
create or replace function ledger_reap(most integer)
returns table (ref text, outcome text) language plpgsql as $fn$
#variable_conflict use_column
declare
  n record;
  h record;
  gone text[];
  a record;
  u usage_records;
  rest numeric;
  closed integer := 0;
  tokens bigint;
begin
  -- A node that was taken for dead may have written a checkpoint since.
  insert into nodes (id, lease_until)
    select k.id, '-infinity'::timestamptz from (
      with recursive each(id) as (
        select min(o.node) from holds o where o.state = 'open'
        union all
        select (select min(o.node) from holds o where o.state = 'open' and o.node > each.id) from each where id is not null
      ) select id from each) k
    where k.id is not null and not exists (select from nodes where id = k.id)
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
        u.ref := h.ref;
        u.org_id := h.org_id;
        u.key_id := h.key_id;
        u.request_id := h.request_id;
        u.source := 'gateway';
        u.cost := h.cost;
        u.currency := h.currency;
        insert into usage_records select u.*;
        update holds o set state = 'reaped', reaped_at = u.at where o.org_id = h.org_id and o.ref = h.ref;
        insert into allotments as t (org_id, counter, node, spent)
        select h.org_id, v.counter, n.id, v.amount
        from (
          select h.currency as counter, h.cost as amount union all select 'tokens:' || h.day, tokens
          union all
          select b.key, case b.value when 'money' then h.cost else tokens end from jsonb_each_text(h.budgets) b) v
        where v.amount <> 0 order by v.counter
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
  gone := array(
    with recursive each(id) as (
      select min(o.node) from allotments o
      union all
      select (select min(o.node) from allotments o where o.node > each.id) from each where id is not null
    ) select id from each where id is not null and not exists (select from nodes k where k.id = each.id));
  for a in select o.org_id, o.counter, o.node from allotments o where o.node = any(gone) order by 1, 2, 3 loop
    insert into counters (org_id, counter) values (a.org_id, a.counter) on conflict do nothing;
    perform 1 from counters k where k.org_id = a.org_id and k.counter = a.counter for update;
    delete from allotments o where o.org_id = a.org_id and o.counter = a.counter and o.node = a.node
      returning o.granted - o.spent into rest;
    if found then
      update counters k set granted = k.granted - rest where k.org_id = a.org_id and k.counter = a.counter;
      perform ledger_move(a.org_id, a.counter, a.node, -rest, a.node);
    end if;
  end loop;
end $fn$;

-- What must hold of the books; every row that comes back is a finding with the id of what is wrong.
create or replace function ledger_audit()
returns table (finding text, id text) language sql stable as $fn$
  with leg as (
    select org_id, currency, debit_account as account, -amount as amount from transfers
    union all
    select org_id, currency, credit_account, amount from transfers
  ), account as materialized (
    select org_id, currency, leg.account, sum(amount) as amount from leg group by 1, 2, 3
  ), stored as (
    select org_id, counter as currency, 'available' as account, funded - granted as amount
    from counters where counter not like '%:%'
    union all
    select org_id, counter, 'funding', -funded from counters where counter not like '%:%'
    union all
    select org_id, counter, 'node:' || node, granted - spent from allotments where counter not like '%:%'
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
  where a.counter like '%:%' and a.granted > coalesce(c.granted, 0)
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
  -- A month is over 31 days after it began.
  delete from counters c
  where (c.counter like 'tokens:%' and substr(c.counter, 8)::date < oldest
      or c.counter like 'budget:%' and right(c.counter, 10)::date < least(oldest, current_date - 32))
    and not exists (select from allotments a where a.org_id = c.org_id and a.counter = c.counter);
  get diagnostics gone = row_count;
  removed := removed + gone;
  return next;
end $fn$;
