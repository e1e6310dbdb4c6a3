-- Balances, allotments and the check of the books.

-- Gives allotments to nodes, as far as the balance and the limit of each counter go: {item, node, org, cur, counters: [{counter, starts,
-- ends, need, want, limit, beside}]}. Nodes before 0054 do not tell when a counter starts and ends. What was used of the counters
-- beside it counts as well. A limit is wider by the counter's funded amount.
create or replace function ledger_allot(items jsonb)
returns table(item integer, outcome text, counter text, available numeric, others integer, grants jsonb, scarce jsonb,
  balance numeric, stock jsonb) language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
  c record;
  share numeric;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  perform 1 from nodes n
    where n.id in (select x.node from jsonb_to_recordset(items) as x(node text)) order by n.id for key share;
  insert into counters (org_id, counter, starts_at, ends_at)
    select distinct x.org, y.counter, y.starts, y.ends
    from jsonb_to_recordset(items) as x(org text, counters jsonb),
      jsonb_to_recordset(x.counters) as y(counter text, starts timestamptz, ends timestamptz)
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
          coalesce(y.limit, 0) + k.funded - k.granted - coalesce((
            select sum(a.spent - a.granted) from allotments a
            where a.org_id = r.org and a.counter = y.counter and a.node <> r.node and a.spent > a.granted), 0)
            - case when y.beside is null then 0 else counters_used(r.org, y.beside) end as free,
          k.funded - k.forgiven as raised,
          (select count(*) from allotments a
            where a.org_id = r.org and a.counter = y.counter and a.node <> r.node and a.granted > a.spent
              -- What batches hold does not come back when nodes are asked for it.
              and a.node not like 'batch:%') as others
        from jsonb_to_recordset(r.counters) as y(counter text, need numeric, want numeric, "limit" numeric, beside jsonb)
        left join counters k on k.org_id = r.org and k.counter = y.counter
      loop
        if c.free is null or c.free < c.need then
          outcome := 'short';
          counter := c.counter;
          available := c.free;
          others := c.others;
          stock := jsonb_build_object(c.counter, c.raised::text);
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

-- The amounts that are used of counters, or granted for it: a list of their names.
create or replace function counters_used(p_org text, p_counters jsonb)
returns numeric language sql stable as $fn$
  select coalesce(sum(k.granted - k.forgiven + coalesce((
    select sum(a.spent - a.granted) from allotments a
    where a.org_id = k.org_id and a.counter = k.counter and a.spent > a.granted), 0)), 0)
  from counters k where k.org_id = p_org and k.counter in (select jsonb_array_elements_text(p_counters))
$fn$;

-- Takes back what nodes do not need: [{node, org, counter, starts, ends, amount, last}]. Negative amounts make up for costs beyond
-- the allotment. last: the node has no holds there; its row goes when nothing is left. A node that was taken for dead has
-- nothing to give back.
create or replace function ledger_return(items jsonb)
returns void language plpgsql as $fn$
declare
  r record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  insert into counters (org_id, counter, starts_at, ends_at)
    select x.org, x.counter, x.starts, x.ends
    from jsonb_to_recordset(items) as x(org text, counter text, starts timestamptz, ends timestamptz)
    where x.counter like '%:%'
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

-- The account of a node, or of a batch: the latter holds its money as a node of its own.
create or replace function node_account(p_node text)
returns text language sql immutable as $fn$
  select case when p_node like 'batch:%' then p_node else 'node:' || p_node end
$fn$;

-- Money is moved between an account and a node, by its sign; other counters have no accounts.
create or replace function ledger_move(p_org text, p_counter text, p_node text, p_amount numeric, p_ref text)
returns void language sql as $fn$
  insert into transfers (org_id, currency, debit_account, credit_account, amount, kind, ref)
  select p_org, p_counter, case when p_amount > 0 then 'available' else node_account(p_node) end,
    case when p_amount > 0 then node_account(p_node) else 'available' end, abs(p_amount),
    case when p_amount > 0 then 'allot' else 'return' end, p_ref
  where p_amount <> 0 and p_counter not like '%:%'
$fn$;

-- The balance of an organisation in a counter: available plus all allotments.
create or replace function ledger_balance(p_org text, p_counter text)
returns numeric language sql stable as $fn$
  select coalesce((select funded - granted from counters where org_id = p_org and counter = p_counter), 0)
    + coalesce((select sum(granted - spent) from allotments where org_id = p_org and counter = p_counter), 0)
$fn$;

-- Balances that have become low, or are not low any more: items are {org, currency, below}.
create or replace function balances_changed(items jsonb)
returns table(org text, currency text, below numeric, balance numeric, is_low boolean) language sql stable as $fn$
  select k.org, k.currency, k.below, k.balance, k.balance < k.below
  from (
    select x.org, x.currency, x.below, ledger_balance(x.org, x.currency) as balance, c.warned is not null as was_low
    from jsonb_to_recordset(items) as x(org text, currency text, below numeric)
    join counters c on c.org_id = x.org and c.counter = x.currency) k
  where (k.balance < k.below) <> k.was_low
$fn$;

-- Checks the books of the organisations after one, up to another (to the last, where that is null). Each row is a finding, with
-- the id of the entry that is wrong.
create or replace function ledger_audit()
returns table(finding text, id text) language sql stable as $fn$
  select * from ledger_audit('', null)
$fn$;

create or replace function ledger_audit(p_after text, p_upto text)
returns table(finding text, id text) language sql stable as $fn$
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
    select org_id, counter, node_account(node), granted - spent from allotments where counter not like '%:%'
      and org_id > p_after and (p_upto is null or org_id <= p_upto)
    union all
    select org_id, currency, 'job:' || id, case when ended_at is null then held else 0 end from jobs
    where held > 0 and org_id > p_after and (p_upto is null or org_id <= p_upto)
  )
  select 'transfers do not sum to the balance',
    coalesce(a.org_id, s.org_id) || ' ' || coalesce(a.currency, s.currency) || ' ' || coalesce(a.account, s.account)
  from account a
  full join stored s on s.org_id = a.org_id and s.currency = a.currency and s.account = a.account
  where coalesce(a.account, '') not in ('revenue', 'opening') and coalesce(a.amount, 0) <> coalesce(s.amount, 0)
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
    and u.at > coalesce((select max(m.until_at) from books_months m), '-infinity') + interval '5 minutes'
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
  select 'an opening has no counterpart', a.org_id || ' ' || a.currency from account a where a.account = 'opening' and a.amount <> 0
  union all
  select 'a closed month does not follow the one before', m.month
  from (select k.month, k.previous, lag(k.hash, 1, '') over (order by k.until_at) as expected
    from books_months k where k.org_id = books_key()) m
  where p_upto is null and m.previous <> m.expected
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
