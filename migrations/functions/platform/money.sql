-- Money in one transaction with rows that are no organisation's.

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

-- Warns of one, at any shard, and writes it to the audit log; false if somebody else has warned.
create or replace function budget_warn(p_org text, p_counter text, p_percent integer, p_warning jsonb)
returns boolean language plpgsql as $fn$
begin
  update counters set warned = p_percent, warning = p_warning, warned_at = now(), mail_after = now()
  where org_id = p_org and counter = p_counter and coalesce(warned, 0) < p_percent;
  if not found then
    return false;
  end if;
  perform audit_append('budget.near', p_org, 'service', 'gateway', p_warning);
  return true;
end $fn$;

-- A budget is used up that has no threshold there: nobody is warned, but it is told, once.
create or replace function budget_reached(p_org text, p_counter text, p_state jsonb)
returns void language plpgsql as $fn$
begin
  update counters set warned = 100 where org_id = p_org and counter = p_counter and coalesce(warned, 0) < 100;
  if found then
    perform event_append(p_org, 'budget.reached', p_state ->> 'id', p_state);
  end if;
end $fn$;

-- Writes it down, and tells that it is low; once, until it was not low.
create or replace function balance_turned(p_org text, p_currency text, p_is_low boolean, p_state jsonb)
returns void language plpgsql as $fn$
begin
  update counters set warned = case when p_is_low then 100 end
  where org_id = p_org and counter = p_currency and (warned is not null) <> p_is_low;
  if found and p_is_low then
    perform event_append(p_org, 'balance.low', p_currency, p_state);
  end if;
end $fn$;

-- Sets a budget of an organisation, or removes it (null). Outcomes: set | removed | absent | full.
create or replace function org_budget_set(p_org_id text, p_id text, p_terms jsonb, p_most integer, p_actor_type text,
  p_actor_id text)
returns text language plpgsql as $fn$
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
end $fn$;

-- Counts an end user in, unless the month is full and the plan enforces. Exact when many mint at once.
create or replace function plan_end_user_take(p_org text, p_month text, p_user text, p_limit integer, p_enforces boolean)
returns table(admitted boolean, used integer) language plpgsql as $fn$
begin
  perform pg_advisory_xact_lock(hashtext('weir.plan_end_users'), hashtext(p_org || p_month));
  select count(*)::integer into used from plan_end_users e where e.org_id = p_org and e.month = p_month;
  admitted := exists (
    select 1 from plan_end_users e where e.org_id = p_org and e.month = p_month and e.end_user_id = p_user);
  if not admitted and (used < p_limit or not p_enforces) then
    insert into plan_end_users (org_id, month, end_user_id) values (p_org, p_month, p_user);
    admitted := true;
    used := used + 1;
  end if;
  return next;
end $fn$;
