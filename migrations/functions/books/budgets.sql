-- Warnings of budgets.

-- Counters that have reached a threshold of which nobody was warned. Each item names a counter and its thresholds:
-- {org, counter, beside, thresholds: [{percent, amount}]}.
create or replace function budgets_near(items jsonb)
returns table(org text, counter text, percent integer, used numeric) language sql stable as $fn$
  select k.org_id, k.counter, max(t.percent), k.used
  from (
    select c.org_id, c.counter, c.warned, x.thresholds, c.granted - c.forgiven - coalesce((
      select sum(a.granted - a.spent) from allotments a where a.org_id = c.org_id and a.counter = c.counter), 0)
      + case when x.beside is null then 0 else counters_used(x.org, x.beside) end as used
    from jsonb_to_recordset(items) as x(org text, counter text, thresholds jsonb, beside jsonb)
    join counters c on c.org_id = x.org and c.counter = x.counter) k
  cross join lateral jsonb_to_recordset(k.thresholds) as t(percent integer, amount numeric)
  where k.used > 0 and t.amount <= k.used and t.percent > coalesce(k.warned, 0)
  group by k.org_id, k.counter, k.used
  order by k.org_id, k.counter
$fn$;

-- Resets a budget's counter, so that the used amount is zero, or raises its limit for this period: by p_raised in all. Both leave
-- what runs as it is. Returns the amounts afterwards.
create or replace function budget_adjust(p_org text, p_counter text, p_starts timestamptz, p_ends timestamptz, p_reset boolean,
  p_raised numeric)
returns table(used numeric, raised numeric) language plpgsql as $fn$
#variable_conflict use_column
declare
  k counters;
  spent numeric;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  insert into counters (org_id, counter, starts_at, ends_at) values (p_org, p_counter, p_starts, p_ends) on conflict do nothing;
  select * into k from counters c where c.org_id = p_org and c.counter = p_counter for update;
  spent := k.granted - coalesce((
    select sum(a.granted - a.spent) from allotments a where a.org_id = p_org and a.counter = p_counter), 0);
  raised := coalesce(p_raised, k.funded - k.forgiven);
  if p_reset then
    k.forgiven := spent;
    k.warned := null;
  end if;
  used := spent - k.forgiven;
  update counters c set forgiven = k.forgiven, funded = k.forgiven + raised, warned = k.warned
    where c.org_id = p_org and c.counter = p_counter;
  return next;
end $fn$;

-- Warnings to send by mail: each is taken for a minute, and given up after a day.
create or replace function budget_mails_take(p_most integer)
returns table(org_id text, counter text, percent integer, warning jsonb) language plpgsql as $fn$
#variable_conflict use_column
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update counters k set mail_after = null where k.mail_after is not null and k.warned_at < now() - interval '1 day';
  return query
    update counters k set mail_after = now() + interval '1 minute'
    from (
      select c.org_id, c.counter from counters c where c.mail_after <= now() order by c.mail_after limit p_most
      for update skip locked) d
    where k.org_id = d.org_id and k.counter = d.counter
    returning k.org_id, k.counter, k.warned::integer, k.warning;
end $fn$;

-- Notes that the mail about a warning has left.
create or replace function budget_mail_sent(p_org text, p_counter text, p_percent integer)
returns void language sql as $fn$
  select books_moved();
  update counters set mail_after = null where org_id = p_org and counter = p_counter and warned = p_percent
$fn$;
