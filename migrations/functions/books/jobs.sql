-- Jobs at vendors.

-- Jobs that are to be asked for now, leased to a node: no other node takes them before the lease is over.
create or replace function jobs_take(p_node text, p_most integer, p_lease_ms double precision)
returns setof jobs language sql as $fn$
  select books_moved();
  update jobs j set lease_node = p_node, lease_until = now() + p_lease_ms * interval '1 millisecond', polls = j.polls + 1
  from (
    select org_id, id from jobs
    where ended_at is null and kind <> 'cache' and next_poll_at <= now() and (lease_until is null or lease_until < now())
    order by next_poll_at limit p_most for update skip locked
  ) due
  where j.org_id = due.org_id and j.id = due.id
  returning j.*
$fn$;

-- Ends the time of a job sooner.
create or replace function job_ends_sooner(p_org text, p_id text, p_at timestamptz)
returns void language sql as $fn$
  select books_moved();
  update jobs set ends_at = p_at where org_id = p_org and id = p_id and ended_at is null and ends_at > p_at
$fn$;

-- Stores the state of a job that goes on, as its vendor told it.
create or replace function job_goes_on(p_org text, p_id text, p_node text, p_state text, p_progress integer, p_after_ms
  double precision)
returns void language sql as $fn$
  select books_moved();
  update jobs set state = p_state, progress = greatest(progress, p_progress), lease_node = null, lease_until = null,
    next_poll_at = now() + p_after_ms * interval '1 millisecond'
  where org_id = p_org and id = p_id and ended_at is null and lease_node = p_node
$fn$;

-- Ends a job once: charges what it cost, and gives the rest back to the organisation and to its budgets.
create or replace function job_end(p_org text, p_id text, p_state text, p_error text, p_content text, p_cost numeric,
  p_record jsonb)
returns boolean language plpgsql as $fn$
declare
  j jobs;
  u usage_records;
  rest numeric;
  returned text[];
begin
  if books_moved() then raise exception 'the books have moved'; end if;
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
    -- A job that an older function began has no record of its call.
    u := jsonb_populate_record(null::usage_records, coalesce(j.usage, to_jsonb(j) || '{"in_tokens": 0, "out_tokens": 0,
      "cache_read_tokens": 0, "cache_write_tokens": 0, "cache_net_saving": 0}'));
    u.ref := j.ref;
    u.at := now();
    u.org_id := p_org;
    u.key_id := j.key_id;
    u.request_id := j.request_id;
    u.source := 'gateway';
    u.dims := p_record;
    u.stop := 'end';
    u.cost := j.held - rest;
    u.currency := j.currency;
    u.place := next_transfer_id();
    insert into usage_records select u.*;
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
  perform event_append(p_org, 'job.done', p_id, jsonb_strip_nulls(jsonb_build_object('job', p_id, 'status', p_state,
    'error', p_error, 'kind', j.kind, 'model', j.model, 'appId', j.app_id, 'requestId', j.request_id,
    'cost', case when p_state = 'done' then trim_scale(j.held - rest)::text end, 'currency', j.currency)));
  return true;
end $fn$;

-- Notes that a vendor is asked for a job. The note is removed when its call has ended.
create or replace function job_attempt_begin(p_org text, p_ref text, p_node text, p_model text)
returns void language sql as $fn$
  select books_moved();
  insert into job_attempts (org_id, ref, node, model) values (p_org, p_ref, p_node, p_model) on conflict do nothing
$fn$;

-- Removes the note of a call for a job that has ended.
create or replace function job_attempt_end(p_org text, p_ref text)
returns void language sql as $fn$
  select books_moved();
  delete from job_attempts where org_id = p_org and ref = p_ref
$fn$;

-- Attempts of dead nodes that no job came of.
create or replace function lost_jobs()
returns table(org text, ref text, model text, at timestamptz) language sql stable as $fn$
  select a.org_id, a.ref, a.model, a.at
  from job_attempts a left join nodes n on n.id = a.node
  where (n.id is null or n.lease_until < now())
    and not exists (select from jobs j where j.org_id = a.org_id and j.ref = a.ref)
  order by a.at desc limit 100
$fn$;
