-- Old nodes: may run, but do not remove old rows.
-- What walks all organisations does it in pages: no statement keeps a snapshot for long.

-- The last of the next organisations with books; null where there are no more.
create function books_page(p_after text, p_most integer) returns table (upto text, orgs integer) language sql stable as $fn$
  select max(org_id), count(*)::integer from (
    select distinct org_id from counters where org_id > p_after order by org_id limit p_most) x
$fn$;

-- What must hold of the books of the organisations after one, up to another (to the last, where that is null); every row
-- that comes back is a finding with the id of what is wrong.
create function ledger_audit(p_after text, p_upto text)
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

create or replace function ledger_audit() returns table (finding text, id text) language sql stable as $fn$
  select * from ledger_audit('', null)
$fn$;

-- What is past keeping, at most so many rows of each kind: client reports by when they came, sessions by when they were last
-- seen, months of end users.
drop function retain_runtime(integer);
create function retain_runtime(keep_days integer, p_most integer) returns bigint language plpgsql as $fn$
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

-- As before, but counters are locked one by one: joined with lists in lists, a million counters were read for each grant.
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
