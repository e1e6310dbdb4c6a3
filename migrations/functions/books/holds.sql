-- Holds of exchanges: checkpoints, settlement, release, and what dead nodes left.

-- Writes what running exchanges would settle now. At the first checkpoint of an exchange its request id is spent; where
-- it is already, the exchange has ended meanwhile or is a second one, and nothing is written.
create or replace function ledger_checkpoint(items json)
returns void language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  with x as materialized (
    select * from json_to_recordset(items) as x(node text, org text, ref text, cur text, key text, req text, first boolean,
      amount numeric, day date, cost numeric, usage jsonb, budgets jsonb)
  ), fresh as (
    insert into spent_requests as s (org_id, key_id, request_id, ref)
    select org, key, req, ref from x where first and req is not null and spent_day(req) is null order by 1, 2, 3
    -- A response that is repeated has spent its own before.
    on conflict (org_id, key_id, request_id) do update set ref = excluded.ref where s.ref = excluded.ref and s.settled_at is null
    returning org_id, ref
  ), fresh_on_days as (
    insert into spent_days as s (org_id, key_id, request_id, day, ref)
    select org, key, req, spent_day(req), ref from x where first and spent_day(req) is not null order by 1, 2, 3
    on conflict (org_id, key_id, request_id, day) do update set ref = excluded.ref where s.ref = excluded.ref and s.settled_at is null
    returning org_id, ref
  ), opened as (
    insert into holds (org_id, ref, node, currency, key_id, request_id, spends, amount, day, cost, usage,
      budgets)
    select x.org, x.ref, x.node, x.cur, x.key, coalesce(x.req, x.ref), x.req is not null, x.amount, x.day, x.cost,
      x.usage, x.budgets
    from x left join (select * from fresh union all select * from fresh_on_days) f on f.org_id = x.org and f.ref = x.ref
    where x.first and (x.req is null or f.ref is not null)
    on conflict do nothing
  )
  update holds h set cost = x.cost, usage = x.usage
  from x where h.org_id = x.org and h.ref = x.ref and h.state = 'open';
end $fn$;

-- Stands in the way of a first checkpoint that may come late, before its exchange is settled or released.
create or replace function ledger_forbid_checkpoint(p_org text, p_ref text, p_node text)
returns void language sql as $fn$
  select books_moved();
  insert into holds (org_id, ref, node, currency, key_id, request_id, spends, amount, day, state)
  values (p_org, p_ref, p_node, '', '', p_ref, false, 0, current_date, 'settled')
  on conflict (org_id, ref) do update set state = 'settled' where holds.state = 'open'
$fn$;

-- Settles many exchanges in one commit: usage record, charge, what the node's allotments have spent, the caller's
-- request id, its reply and a response that is kept. Settling again changes nothing and tells the balance of the kept reply; what a reaper settled
-- is replaced. Outcomes: settled | duplicate (the request id was spent by another exchange: nothing is billed); the balance
-- is the organisation's. told: the settlement comes late, and the caller was told this balance in this reply.
create or replace function ledger_settle(items json, replies bytea, any_opened boolean)
returns table(item integer, outcome text, balance numeric) language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
  conversing integer[];
  outside integer[];
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  perform pg_current_xact_id();
  if any_opened then
    perform ledger_close_holds(items);
  end if;
  for r in
  with x as materialized (
    select x.*, case when x.req_day > spent_days_after() then x.req_day
      when x.req_day is null and x.req is not null then spent_day(x.req) end as spent_on
    from json_to_recordset(items) as x(item integer, node text, org text, ref text, cur text, key text, req text,
      day date, at double precision, cost numeric, usage usage_records, req_day date, reply_from integer,
      reply_bytes integer, told numeric, budgets json, job jsonb, kept jsonb, kept_from integer, kept_bytes integer)
  ), spent as (
    insert into spent_requests as s (org_id, key_id, request_id, ref, settled_at)
    select org, key, req, ref, to_timestamp(at / 1000) from x where req is not null and spent_on is null
    order by 1, 2, 3
    on conflict (org_id, key_id, request_id) do update
      set settled_at = case when s.ref = excluded.ref then excluded.settled_at else s.settled_at end
    returning s.org_id, s.key_id, s.request_id, s.ref
  ), spent_on_days as (
    insert into spent_days as s (org_id, key_id, request_id, day, ref, settled_at)
    select org, key, req, spent_on, ref, to_timestamp(at / 1000) from x where spent_on is not null
    order by 1, 2, 3
    on conflict (org_id, key_id, request_id, day) do update
      set settled_at = case when s.ref = excluded.ref then excluded.settled_at else s.settled_at end
    returning s.org_id, s.key_id, s.request_id, s.ref
  ), judged as materialized (
    select x.*, s.ref is not null and s.ref <> x.ref as is_duplicate,
      (usage).in_tokens + (usage).out_tokens + (usage).cache_read_tokens + (usage).cache_write_tokens as tokens
    from x left join (select * from spent union all select * from spent_on_days) s
      on s.org_id = x.org and s.key_id = x.key and s.request_id = x.req
  ), booked as (
    insert into usage_records
    select u.*
    from judged j cross join lateral json_populate_record(j.usage, json_build_object('ref', j.ref, 'at', to_timestamp(j.at / 1000),
      'org_id', j.org, 'key_id', j.key, 'request_id', coalesce(j.req, j.ref), 'source', 'gateway', 'cost', j.cost,
      'currency', j.cur, 'place', next_transfer_id())) u
    where not j.is_duplicate and j.job is null
    on conflict do nothing
    returning org_id, ref, at, place
  ), unpunctual as (
    insert into usage_late (org_id, place, at, ref)
    select b.org_id, b.place, b.at, b.ref from booked b
    where b.at < clock_timestamp() - interval '15 seconds' or b.at > now() + interval '15 seconds'
  ), begun as (
    insert into jobs (org_id, id, ref, node, currency, held, budgets, app_id, key_id, end_user_id, request_id, session_id,
      purpose, kind, model, vendor, target_model, vendor_job, is_own, dims, usage, view, created_at, ends_at)
    select org, job->>'id', ref, node, cur, cost, coalesce(budgets::jsonb, '{}'), (usage).app_id, key, coalesce(job->>'endUserId', job->>'endUser'),
      coalesce(req, ref), (usage).session_id, (usage).purpose, job->>'kind', (usage).model, (usage).vendor,
      job->>'targetModel', job->>'vendorJob', (job->>'isOwn')::boolean, (usage).dims, to_jsonb(usage), job->'view',
      to_timestamp(at / 1000),
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
    from charge c, json_each_text(c.budgets) u where json_typeof(c.budgets) = 'object' group by 1, 2, 3
    having sum(case u.value when 'money' then c.cost else c.tokens end) <> 0
    order by 1, 2, 3
    on conflict (org_id, counter, node) do update set spent = a.spent + excluded.spent
  ), moved as (
    insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
    select org, cur, node_account(node), case when job is null then 'revenue' else 'job:' || (job->>'id') end, cost,
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
    select c.org, to_timestamp(c.at / 1000), c.ref, coalesce(c.told, a.balance), substr(replies, c.reply_from, c.reply_bytes)
    from charge c join account a on a.org = c.org and a.cur = c.cur
    where c.reply_from is not null
  ), stored as (
    insert into responses as r (org_id, day, id, previous_id, app_id, person_id, end_user_id, model, state, erase_at, replied_at,
      content, object_id, object_bytes)
    select c.org, (c.kept->>'day')::date, c.kept->>'id', c.kept->>'previous', c.kept->>'app', c.kept->>'person', c.kept->>'endUser',
      c.kept->>'model', c.kept->>'state', to_timestamp((c.kept->>'eraseAt')::double precision / 1000),
      case when c.reply_from is not null then to_timestamp(c.at / 1000) end, substr(replies, c.kept_from, c.kept_bytes), c.kept->'object'->>'id', (c.kept->'object'->>'bytes')::bigint
    from charge c where c.kept_from is not null
      -- One that has begun may have been erased meanwhile.
      and ((c.kept->>'background')::boolean is not true or exists (
        select from responses q
        where q.org_id = c.org and q.day = (c.kept->>'day')::date and q.id = c.kept->>'id'))
    on conflict (org_id, day, id) do update set state = excluded.state, content = excluded.content, object_id = excluded.object_id,
      object_bytes = excluded.object_bytes, lease_until = null, request = null,
      work = null
      where r.state in ('queued', 'in_progress')
    returning r.org_id, r.id, r.is_background, r.state, r.model, r.app_id, r.request_id
  ), ended as (
    insert into events (org_id, id, type, subject, data, at, place)
    select s.org_id, 'evt_' || replace(gen_random_uuid()::text, '-', ''), 'response.completed', s.id,
      response_facts(s.id, s.state, s.model, s.app_id, s.request_id), clock_timestamp(), next_transfer_id()
    from stored s where s.is_background
  ), named as (
    insert into response_items (org_id, id, response_id, erase_at)
    select c.org, i.id, c.kept->>'id', to_timestamp((c.kept->>'eraseAt')::double precision / 1000)
    from charge c cross join jsonb_array_elements_text(c.kept->'items') i(id) where c.kept_from is not null
    on conflict do nothing
  )
  select j.item, j.org, j.at, j.ref, j.is_duplicate, a.balance, j.reply_from, j.reply_bytes, j.told,
    j.reply_from is not null and not j.is_duplicate and c.item is null as is_again, c.kept->'conversation' is not null as converses,
    c.kept->'object' is not null as is_outside
  from judged j join account a on a.org = j.org and a.cur = j.cur left join charge c on c.item = j.item
  loop
    item := r.item;
    outcome := case when r.is_duplicate then 'duplicate' else 'settled' end;
    balance := r.balance;
    if r.converses then
      conversing := conversing || r.item;
    end if;
    if r.is_outside then
      outside := outside || r.item;
    end if;
    if r.is_again then
      if r.told is not null then
        update replies k set balance = r.told, reply = substr(replies, r.reply_from, r.reply_bytes)
        where k.org_id = r.org and k.at = to_timestamp(r.at / 1000) and k.ref = r.ref;
      end if;
      select coalesce(max(k.balance), r.balance) into balance
      from replies k where k.org_id = r.org and k.at = to_timestamp(r.at / 1000) and k.ref = r.ref;
    end if;
    return next;
  end loop;
  if outside is not null then
    perform settled_objects_name(items, outside);
  end if;
  if conversing is not null then
    perform conversations_append(items, replies, conversing);
  end if;
end $fn$;

-- Closes the holds of a settlement that had a checkpoint, and marks the hour of a usage record that is taken back late.
create or replace function ledger_close_holds(items json)
returns void language plpgsql as $fn$
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
        returning u.*, u.in_tokens + u.out_tokens + u.cache_read_tokens + u.cache_write_tokens as tokens
      ), noted as (
        insert into usage_corrections (org_id, place, undone_place, record)
        select d.org_id, next_transfer_id(), d.place, to_jsonb(d) - 'tokens' from undone d
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
      select r.org_id, r.currency, 'revenue', node_account(r.node), undone.cost, 'correct', r.ref
      from undone where undone.cost > 0;
    end if;
  end loop;
end $fn$;

-- Releases holds: nothing is billed. A request id that a first checkpoint has spent is free again.
create or replace function ledger_release(items json)
returns void language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  with closed as (
    delete from holds h using json_to_recordset(items) as x(org text, ref text)
    where h.org_id = x.org and h.ref = x.ref and h.state = 'open'
    returning h.org_id, h.key_id, h.request_id, h.ref
  ), freed as (
    delete from spent_requests s using closed c
    where s.org_id = c.org_id and s.key_id = c.key_id and s.request_id = c.request_id and s.ref = c.ref
  )
  delete from spent_days s using closed c
  where s.org_id = c.org_id and s.key_id = c.key_id and s.request_id = c.request_id and s.day = spent_day(c.request_id)
    and s.ref = c.ref;
end $fn$;

-- Settles what dead nodes left, at its last checkpoint, then takes back their allotments. Nodes may reap at once: each
-- dead node is closed by one of them. Nodes are found through indexes, however many holds and allotments there are.
create or replace function ledger_reap(most integer)
returns table(ref text, outcome text) language plpgsql set enable_seqscan to 'off' set jit to 'off' as $fn$
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
  -- Organisations whose rows somebody has locked: theirs waits for the next time.
  locked text[] := '{}';
  -- Dead nodes that have open holds of those.
  partly text[] := '{}';
begin
  if books_moved() then raise exception 'the books have moved'; end if;
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
    for h in select * from holds o where o.node = n.id and o.state = 'open' order by o.org_id, o.ref limit most - closed
      for update skip locked
    loop
      continue when h.org_id = any(locked);
      ref := h.ref;
      outcome := 'released';
      if h.usage is not null then
        -- A record that cannot be stored is not billed: it would keep all others from being settled, too.
        begin
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
          u.place := next_transfer_id();
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
          select h.org_id, h.currency, node_account(n.id), 'revenue', h.cost, 'charge', h.ref where h.cost > 0;
        exception
          when data_exception or integrity_constraint_violation then
            outcome := 'unreadable';
          when lock_not_available then
            outcome := 'locked';
        end;
      end if;
      if outcome in ('released', 'unreadable') then
        begin
          delete from holds o where o.org_id = h.org_id and o.ref = h.ref;
          delete from spent_requests s
          where s.org_id = h.org_id and s.key_id = h.key_id and s.request_id = h.request_id and s.ref = h.ref;
          delete from spent_days s
          where s.org_id = h.org_id and s.key_id = h.key_id and s.request_id = h.request_id and s.day = spent_day(h.request_id)
            and s.ref = h.ref;
        exception when lock_not_available then
          outcome := 'locked';
        end;
      end if;
      if outcome = 'locked' then
        locked := array_append(locked, h.org_id);
        continue;
      end if;
      closed := closed + 1;
      return next;
    end loop;
    if not exists (select from holds o where o.node = n.id and o.state = 'open') then
      delete from nodes where id = n.id;
    elsif closed < most then
      partly := array_append(partly, n.id);
    end if;
  end loop;
  -- Of nodes that are gone, and what was charged to one after it was gone.
  gone := array(
    with recursive each(id) as (
      select min(o.node) from allotments o
      union all
      select (select min(o.node) from allotments o where o.node > each.id) from each where id is not null
    ) select id from each where id is not null and not exists (select from nodes k where k.id = each.id)
      and not (id like 'batch:%'
        and exists (select from batches b where b.id = substr(each.id, 7) and b.ended_at is null)));
  for a in select o.org_id, o.counter, o.node from allotments o where o.node = any(gone || partly) order by 1, 2, 3 loop
    continue when a.org_id = any(locked) or a.node = any(partly)
      and exists (select from holds o where o.org_id = a.org_id and o.node = a.node and o.state = 'open');
    insert into counters (org_id, counter) values (a.org_id, a.counter) on conflict do nothing;
    perform 1 from counters k, allotments o
      where k.org_id = a.org_id and k.counter = a.counter and o.org_id = a.org_id and o.counter = a.counter and o.node = a.node
      for update skip locked;
    -- Only what is not had at once costs a block of its own.
    if not found then
      begin
        perform 1 from counters k where k.org_id = a.org_id and k.counter = a.counter for update;
        perform 1 from allotments o where o.org_id = a.org_id and o.counter = a.counter and o.node = a.node for update;
      exception when lock_not_available then
        locked := array_append(locked, a.org_id);
        continue;
      end;
    end if;
    delete from allotments o where o.org_id = a.org_id and o.counter = a.counter and o.node = a.node
      returning o.granted - o.spent into rest;
    if found then
      update counters k set granted = k.granted - rest where k.org_id = a.org_id and k.counter = a.counter;
      perform ledger_move(a.org_id, a.counter, a.node, -rest, a.node);
    end if;
  end loop;
end $fn$;

-- Whether request ids were spent by exchanges that ended, and what each came to.
create or replace function ledger_spent(items json, keep_s double precision)
returns table(item integer, ref text, running boolean, balance numeric, reply bytea) language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  for r in
    select x.item, x.org, s.ref, s.settled_at, h.ref is not null as running
    from json_to_recordset(items) as x(item integer, org text, key text, req text)
    left join lateral (
      select q.org_id, q.ref, q.settled_at from spent_requests q
      where q.org_id = x.org and q.key_id = x.key and q.request_id = x.req and spent_day(x.req) is null
      union all
      select q.org_id, q.ref, q.settled_at from spent_days q
      where q.org_id = x.org and q.key_id = x.key and q.request_id = x.req and q.day = spent_day(x.req)) s on true
    left join holds h on h.org_id = s.org_id and h.ref = s.ref and h.state = 'open'
  loop
    item := r.item;
    ref := r.ref;
    running := r.running;
    balance := null;
    reply := null;
    if r.settled_at > now() - keep_s * interval '1 second' then
      select k.balance, k.reply into balance, reply
      from replies k where k.org_id = r.org and k.at = r.settled_at and k.ref = r.ref;
    end if;
    return next;
  end loop;
end $fn$;

-- The day of an id that carries its time; null for others. No id was made for a gateway before 2026.
create or replace function request_day(p_id text)
returns date language plpgsql immutable as $fn$
declare
  ms bigint := 0;
begin
  if length(p_id) = 26 then
    if p_id !~* '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' then
      return null;
    end if;
    for at in 1..10 loop
      ms := ms * 32 + strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', upper(substr(p_id, at, 1))) - 1;
    end loop;
  elsif length(p_id) = 36 and substr(p_id, 15, 1) = '7' then
    if p_id !~* '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' then
      return null;
    end if;
    ms := ('x' || substr(p_id, 1, 8) || substr(p_id, 10, 4))::bit(48)::bigint;
  else
    return null;
  end if;
  if ms < 1767225600000 or ms >= 4102444800000 then
    return null;
  end if;
  return (timestamp 'epoch' + ms * interval '1 millisecond')::date;
end $fn$;

-- The day in whose partition an id is spent; null for ids without a time, and for those of days before there were partitions.
create or replace function spent_day(p_id text)
returns date language sql immutable as $fn$ select case when d > spent_days_after() then d end from request_day(p_id) d $fn$;
