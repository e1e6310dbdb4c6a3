-- Old nodes: may run.
-- Jobs that a vendor was asked for: written before it is asked, removed when the call has ended. What a node leaves behind
-- when it dies names a job that the vendor may work on for nobody.
create table job_attempts (
  org_id text not null,
  ref text not null,
  node text not null,
  model text not null,
  at timestamptz not null default now(),
  primary key (org_id, ref)
);

-- Attempts of dead nodes that no job came of.
create function lost_jobs() returns table (org text, ref text, model text, at timestamptz) language sql stable as $fn$
  select a.org_id, a.ref, a.model, a.at
  from job_attempts a left join nodes n on n.id = a.node
  where (n.id is null or n.lease_until < now())
    and not exists (select from jobs j where j.org_id = a.org_id and j.ref = a.ref)
  order by a.at desc limit 100
$fn$;

-- Forgets attempts that were told of for a week.
create function retain_job_attempts(most integer) returns bigint language sql as $fn$
  with old as (select org_id, ref from job_attempts where at < now() - interval '7 days' limit most),
  gone as (
    delete from job_attempts a using old where a.org_id = old.org_id and a.ref = old.ref returning 1
  )
  select count(*) from gone
$fn$;

-- Ends a job once: charges what it cost, and gives the rest back to the organisation and to its budgets.
create or replace function job_end(p_org text, p_id text, p_state text, p_error text, p_content text, p_cost numeric, p_record jsonb)
returns boolean language plpgsql as $fn$
declare
  j jobs;
  rest numeric;
  returned text[];
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
    -- In the order in which allotments are granted: counters, by name, then what nodes have of them.
    returned := array[j.currency] || array(select b.key from jsonb_each_text(j.budgets) b where b.value = 'money');
    perform from counters c where c.org_id = p_org and c.counter = any(returned) order by c.counter for update;
    update counters c set granted = c.granted - rest where c.org_id = p_org and c.counter = any(returned);
    -- The node that it was held from may still have its share, which spent it: what goes back leaves both.
    update allotments a set granted = a.granted - rest, spent = a.spent - rest
    where a.org_id = p_org and a.counter = any(returned) and a.node = j.node;
  end if;
  return true;
end $fn$;
