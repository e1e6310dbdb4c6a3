-- Old nodes: may run; they neither begin jobs nor poll them.
-- Calls that outlive their request. What a job costs at most is moved to its account `job:ID` by the commit that records
-- the vendor's job; it leaves that account by one charge and one return.
create table jobs (
  org_id text not null,
  id text not null,
  ref text not null,
  -- Whose allotment it was held from.
  node text not null,
  currency text not null,
  held numeric(30, 10) not null check (held >= 0),
  -- The counters of budgets that it was counted in, by what they count.
  budgets jsonb not null,
  app_id text,
  key_id text not null,
  end_user_id text,
  request_id text not null,
  session_id text,
  purpose text not null,
  kind text not null,
  model text not null,
  vendor text not null,
  target_model text not null,
  vendor_job text not null,
  is_own boolean not null,
  dims jsonb not null,
  -- What the client asked for, as far as it is told of it: no prompt.
  view jsonb not null,
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed', 'cancelled')),
  progress integer not null default 0,
  error_code text,
  -- Where the vendor has the result.
  content text,
  created_at timestamptz not null,
  ends_at timestamptz not null,
  ended_at timestamptz,
  next_poll_at timestamptz not null default now(),
  polls integer not null default 0,
  lease_node text,
  lease_until timestamptz,
  primary key (org_id, id)
);
create index on jobs (next_poll_at) where ended_at is null;
create index on jobs (org_id, created_at desc);
create unique index on jobs (ref, org_id);

-- One more kind: rows that were valid are, and are not read again.
alter table transfers drop constraint transfers_kind_check;
alter table transfers add constraint transfers_kind_check
  check (kind in ('topup', 'allot', 'return', 'charge', 'correct', 'job')) not valid;

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

-- Jobs that are to be asked for now, leased to a node: no other node takes them before the lease is over.
create function jobs_take(p_node text, p_most integer, p_lease_ms double precision)
returns setof jobs language sql as $fn$
  update jobs j set lease_node = p_node, lease_until = now() + p_lease_ms * interval '1 millisecond', polls = j.polls + 1
  from (
    select org_id, id from jobs
    where ended_at is null and next_poll_at <= now() and (lease_until is null or lease_until < now())
    order by next_poll_at limit p_most for update skip locked
  ) due
  where j.org_id = due.org_id and j.id = due.id
  returning j.*
$fn$;

-- What the vendor said of a job that goes on.
create function job_goes_on(p_org text, p_id text, p_node text, p_state text, p_progress integer, p_after_ms double precision)
returns void language sql as $fn$
  update jobs set state = p_state, progress = greatest(progress, p_progress), lease_node = null, lease_until = null,
    next_poll_at = now() + p_after_ms * interval '1 millisecond'
  where org_id = p_org and id = p_id and ended_at is null and lease_node = p_node
$fn$;

-- Ends a job once: charges what it cost, and gives the rest back to the organisation and to its budgets.
create function job_end(p_org text, p_id text, p_state text, p_error text, p_content text, p_cost numeric, p_record jsonb)
returns boolean language plpgsql as $fn$
declare
  j jobs;
  rest numeric;
begin
  update jobs set state = p_state, error_code = p_error, content = p_content, ended_at = now(), lease_node = null,
    lease_until = null, progress = case when p_state = 'done' then 100 else progress end
  where org_id = p_org and id = p_id and ended_at is null
  returning * into j;
  if not found then
    return false;
  end if;
  rest := j.held - least(p_cost, j.held);
  if j.held - rest > 0 then
    insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
    values (p_org, j.currency, 'job:' || p_id, 'revenue', j.held - rest, 'charge', j.ref);
  end if;
  if p_state = 'done' then
    insert into usage_records (ref, at, org_id, app_id, key_id, request_id, session_id, purpose, model, vendor, in_tokens,
      out_tokens, cache_read_tokens, cache_write_tokens, dims, stop, cost, cache_net_saving, currency)
    values (j.ref, now(), p_org, j.app_id, j.key_id, j.request_id, j.session_id, j.purpose, j.model, j.vendor, 0, 0, 0, 0,
      p_record, 'end', j.held - rest, 0, j.currency);
  end if;
  if rest > 0 then
    insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
    values (p_org, j.currency, 'job:' || p_id, 'available', rest, 'return', j.ref);
    update counters set granted = granted - rest where org_id = p_org and counter = j.currency;
    -- Budgets of money; a budget's counter has no account. The node that it was held from may still have its share.
    update allotments a set granted = a.granted - rest, spent = a.spent - rest
    from jsonb_each_text(j.budgets) b
    where b.value = 'money' and a.org_id = p_org and a.counter = b.key and a.node = j.node;
    update counters c set granted = c.granted - rest
    from jsonb_each_text(j.budgets) b
    where b.value = 'money' and c.org_id = p_org and c.counter = b.key;
  end if;
  return true;
end $fn$;

create or replace function ledger_audit(p_after text, p_upto text)
returns table (finding text, id text) language sql stable as $fn$
  with leg as (
    select org_id, currency, debit_account as account, -amount as amount from transfers
    where org_id > p_after and (p_upto is null or org_id <= p_upto)
    union all
    select org_id, currency, credit_account, amount from transfers
    where org_id > p_after and (p_upto is null or org_id <= p_upto)
  ), account as materialized (
    select org_id, currency, leg.account, sum(amount) as amount from leg group by 1, 2, 3
  ), stored as (
    select org_id, counter as currency, 'available' as account, funded - granted as amount
    from counters where counter not like '%:%'
      and org_id > p_after and (p_upto is null or org_id <= p_upto)
    union all
    select org_id, counter, 'funding', -funded from counters where counter not like '%:%'
      and org_id > p_after and (p_upto is null or org_id <= p_upto)
    union all
    select org_id, counter, 'node:' || node, granted - spent from allotments where counter not like '%:%'
      and org_id > p_after and (p_upto is null or org_id <= p_upto)
    union all
    select org_id, currency, 'job:' || id, case when ended_at is null then held else 0 end from jobs
    where held > 0 and org_id > p_after and (p_upto is null or org_id <= p_upto)
  )
  select 'transfers do not sum to the balance',
    coalesce(a.org_id, s.org_id) || ' ' || coalesce(a.currency, s.currency) || ' ' || coalesce(a.account, s.account)
  from account a
  full join stored s on s.org_id = a.org_id and s.currency = a.currency and s.account = a.account
  where coalesce(a.account, '') <> 'revenue' and coalesce(a.amount, 0) <> coalesce(s.amount, 0)
  union all
  select 'a settlement has no usage record', t.ref
  from transfers t
  where t.kind in ('charge', 'correct') and t.org_id > p_after and (p_upto is null or t.org_id <= p_upto)
    and t.at > coalesce((select max(since) from usage_kept), '-infinity') + interval '1 minute'
    and not exists (select from usage_records u where u.org_id = t.org_id and u.ref = t.ref)
  union all
  select 'a usage record has no settlement', u.ref
  from usage_records u
  left join (
    select org_id, ref, sum(case when credit_account = 'revenue' then amount else -amount end) as cost
    from transfers where kind in ('charge', 'correct')
      and org_id > p_after and (p_upto is null or org_id <= p_upto)
    group by 1, 2) t on t.org_id = u.org_id and t.ref = u.ref
  where u.org_id > p_after and (p_upto is null or u.org_id <= p_upto) and u.source = 'gateway'
    and u.cost <> coalesce(t.cost, 0)
  union all
  select 'a call was billed twice', u.ref from usage_records u
  where u.org_id > p_after and (p_upto is null or u.org_id <= p_upto) group by u.org_id, u.ref having count(*) > 1
  union all
  select 'a request id was billed twice', u.org_id || ' ' || u.key_id || ' ' || u.request_id
  from usage_records u
  where u.org_id > p_after and (p_upto is null or u.org_id <= p_upto) and u.source = 'gateway'
  group by u.org_id, u.key_id, u.request_id having count(*) > 1
  union all
  select 'a hold has outlived its lease', h.ref
  from holds h left join nodes n on n.id = h.node
  where h.org_id > p_after and (p_upto is null or h.org_id <= p_upto) and h.state = 'open'
    and (n.id is null or n.lease_until < now())
  union all
  select 'an allotment has outlived its node', a.org_id || ' ' || a.counter || ' ' || a.node
  from allotments a join nodes n on n.id = a.node
  where a.org_id > p_after and (p_upto is null or a.org_id <= p_upto) and n.lease_until < now() - interval '1 minute'
  union all
  select 'a counter does not match its allotments', a.org_id || ' ' || a.counter
  from (select org_id, counter, sum(granted) as granted from allotments
    where org_id > p_after and (p_upto is null or org_id <= p_upto) group by 1, 2) a
  left join counters c on c.org_id = a.org_id and c.counter = a.counter
  where a.counter like '%:%' and a.granted > coalesce(c.granted, 0)
$fn$;

-- Forgets jobs that ended long ago, some at a time.
create function retain_jobs(keep_days integer, most integer) returns bigint language sql as $fn$
  with old as (
    select org_id, id from jobs where ended_at < now() - keep_days * interval '1 day' limit most
  ), gone as (
    delete from jobs j using old where j.org_id = old.org_id and j.id = old.id returning 1
  )
  select count(*) from gone
$fn$;
create index on jobs (ended_at) where ended_at is not null;
