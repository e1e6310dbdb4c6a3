-- Budgets that organisations set for themselves, by id: `{scope, subject?, unit, period, limit, mode?, warnAt?}`. Nodes
-- read what has a newer revision than they know; revisions are in the order of commits, because the audit log is.
create sequence org_budgets_revision;
create table org_budgets (
  org_id text primary key,
  budgets jsonb not null,
  revision bigint not null unique
);

-- Sets a budget of an organisation, or removes it (null). Outcomes: set | removed | absent | full.
create function org_budget_set(p_org_id text, p_id text, p_terms jsonb, p_most integer, p_actor_type text, p_actor_id text)
returns text language plpgsql as $$
declare
  known jsonb;
  was jsonb;
begin
  insert into org_budgets (org_id, budgets, revision) values (p_org_id, '{}', nextval('org_budgets_revision'))
    on conflict do nothing;
  select budgets into known from org_budgets where org_id = p_org_id for update;
  was := known -> p_id;
  if p_terms is null and was is null then
    return 'absent';
  end if;
  if p_terms is not null and was is null and (select count(*) from jsonb_object_keys(known)) >= p_most then
    return 'full';
  end if;
  perform audit_append(case when p_terms is null then 'budget.removed' else 'budget.set' end, p_org_id, p_actor_type,
    p_actor_id, jsonb_strip_nulls(jsonb_build_object('budget', p_id, 'before', was, 'after', p_terms)));
  update org_budgets set revision = nextval('org_budgets_revision'),
    budgets = case when p_terms is null then known - p_id else known || jsonb_build_object(p_id, p_terms) end
  where org_id = p_org_id;
  return case when p_terms is null then 'removed' else 'set' end;
end $$;

-- The highest threshold (percent of a budget's limit) of which its organisation was warned, what the warning says, and
-- from when on it may be sent by mail: null if it was.
alter table counters add column warned smallint, add column warning jsonb, add column warned_at timestamptz,
  add column mail_after timestamptz;
create index counters_to_mail on counters (mail_after) where mail_after is not null;

-- Warns of counters that have reached a threshold of which nobody warned before, once each, and writes it to the audit log.
-- Each item names a counter and its thresholds, the lowest first: {org, counter, thresholds: [{percent, amount}], warning}.
create function budgets_warn(items jsonb)
returns table (org text, counter text, percent integer) language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
  reached integer;
  said jsonb;
begin
  for r in
    select x.org, x.counter, x.thresholds, x.warning, k.warned,
      coalesce(k.granted, 0) - coalesce((
        select sum(a.granted - a.spent) from allotments a where a.org_id = x.org and a.counter = x.counter), 0) as used
    from jsonb_to_recordset(items) as x(org text, counter text, thresholds jsonb, warning jsonb)
    join counters k on k.org_id = x.org and k.counter = x.counter
    order by x.org, x.counter
  loop
    select max(t.percent) into reached from jsonb_to_recordset(r.thresholds) as t(percent integer, amount numeric)
      where r.used > 0 and t.amount <= r.used;
    if reached is not null and reached > coalesce(r.warned, 0) then
      said := r.warning || jsonb_build_object('percent', reached, 'used', trim_scale(r.used)::text);
      update counters k set warned = reached, warning = said, warned_at = now(), mail_after = now()
        where k.org_id = r.org and k.counter = r.counter and coalesce(k.warned, 0) < reached;
      if found then
        perform audit_append('budget.near', r.org, 'service', 'gateway', said);
        org := r.org;
        counter := r.counter;
        percent := reached;
        return next;
      end if;
    end if;
  end loop;
end $fn$;

-- Warnings to send by mail: each is taken for a minute, and given up after a day.
create function budget_mails_take(p_most integer)
returns table (org_id text, counter text, percent integer, warning jsonb) language plpgsql as $fn$
#variable_conflict use_column
begin
  update counters k set mail_after = null where k.mail_after is not null and k.warned_at < now() - interval '1 day';
  return query
    update counters k set mail_after = now() + interval '1 minute'
    from (
      select c.org_id, c.counter from counters c where c.mail_after <= now() order by c.mail_after limit p_most
      for update skip locked) d
    where k.org_id = d.org_id and k.counter = d.counter
    returning k.org_id, k.counter, k.warned::integer, k.warning;
end $fn$;
