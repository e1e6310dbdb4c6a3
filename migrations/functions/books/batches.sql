-- Batches: their money, their parts, their answers and their end.

-- Begins a batch: moves its money, which a node has held, to its account. Outcomes: moved | lapsed (the lease of the node has ended,
-- and the money with it) | repeated (another batch has its request id). A batch that is there already is not begun again. Needs: [{counter, amount}]. Chunks: [{first, lines, place, bytes}].
-- A batch that runs at a vendor has submissions instead: [{first, lines, place, bytes, vendor, targetModel, target, isOwn, group}].
create or replace function batch_begin(p_org text, p_batch jsonb, p_facts bytea, p_chunks jsonb, p_node text, p_needs jsonb)
returns text language plpgsql as $fn$
declare
  batch text := p_batch->>'id';
  account text := 'batch:' || batch;
  need record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  if exists (select from batches b where b.org_id = p_org and b.id = batch) then
    return 'moved';
  end if;
  if p_batch->>'request' is not null then
    perform pg_advisory_xact_lock(hashtextextended('batches ' || p_org || ' ' || (p_batch->>'key') || ' ' || (p_batch->>'request'), 0));
    if exists (select from batches b where b.org_id = p_org and b.key_id = p_batch->>'key' and b.request_id = p_batch->>'request') then
      return 'repeated';
    end if;
  end if;
  perform from nodes n where n.id = p_node and n.lease_until > now() for key share;
  if p_node is not null and not found then
    return 'lapsed';
  end if;
  for need in
    select x.counter, x.amount from jsonb_to_recordset(p_needs) as x(counter text, amount numeric) where x.amount <> 0 order by 1
  loop
    update allotments a set granted = a.granted - need.amount
    where a.org_id = p_org and a.counter = need.counter and a.node = p_node;
    if not found then
      raise exception 'the node has no allotment of %', need.counter;
    end if;
    insert into allotments (org_id, counter, node, granted) values (p_org, need.counter, account, need.amount);
    perform ledger_move(p_org, need.counter, p_node, -need.amount, batch);
    perform ledger_move(p_org, need.counter, account, need.amount, batch);
  end loop;
  insert into batches (org_id, id, app_id, person_id, end_user_id, key_id, request_id, api, state, lines, currency, held, day, budgets, tags,
    ends_at, ended_at, erase_at, facts, outcome)
  values (p_org, batch, p_batch->>'app', p_batch->>'person', p_batch->>'endUser', p_batch->>'key', p_batch->>'request', p_batch->>'api', p_batch->>'state',
    (p_batch->>'lines')::integer, p_batch->>'currency', (p_batch->>'held')::numeric, p_batch->>'day',
    coalesce(p_batch->'budgets', '[]'), p_batch->'tags', now() + (p_batch->>'windowMs')::double precision * interval '1 millisecond',
    case when p_batch->>'state' = 'failed' then now() end,
    now() + (p_batch->>'keptMs')::double precision * interval '1 millisecond', p_facts, decode(p_batch->>'outcome', 'base64'));
  insert into batch_chunks (org_id, batch_id, chunk, first_line, lines, place, bytes)
  select p_org, batch, row_number() over (order by x.first), x.first, x.lines, x.place, x.bytes
  from jsonb_to_recordset(p_chunks) as x(first integer, lines integer, place bigint, bytes integer);
  insert into batch_submissions (org_id, batch_id, submission, first_line, lines, place, bytes, vendor, target_model, target,
    is_own, line_group)
  select p_org, batch, row_number() over (order by x.first), x.first, x.lines, x.place, x.bytes, x.vendor, x."targetModel",
    x.target, x."isOwn", x."group"
  from jsonb_to_recordset(coalesce(p_batch->'submissions', '[]')) as x(first integer, lines integer, place bigint, bytes bigint,
    vendor text, "targetModel" text, target text, "isOwn" boolean, "group" text);
  return 'moved';
end $fn$;

-- Parts that are to be answered now, leased to a node, until they have so many requests together: of each in turn, so that a large one does not keep
-- others waiting. Of a batch, those for which a vendor has failed come last: a request that always fails keeps no other one waiting.
create or replace function batch_chunks_take(p_node text, p_most integer, p_lease_ms double precision)
returns setof batch_chunks language plpgsql as $fn$
declare
  b record;
  c batch_chunks;
  requests integer := 0;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  for b in
    select q.org_id, q.id from batches q
    where q.state = 'in_progress' and q.cancelled_at is null and q.ends_at > now() and q.wake_at <= now()
      and exists (select from batch_chunks k where k.org_id = q.org_id and k.batch_id = q.id
        and (k.lease_until is null or k.lease_until < now()))
    order by q.taken_at limit p_most for update skip locked
  loop
    exit when requests >= p_most;
    update batches q set taken_at = clock_timestamp() where q.org_id = b.org_id and q.id = b.id;
    update batch_chunks k set lease_node = p_node, lease_until = now() + p_lease_ms * interval '1 millisecond'
    where k.org_id = b.org_id and k.batch_id = b.id and k.chunk = (
      select l.chunk from batch_chunks l
      where l.org_id = b.org_id and l.batch_id = b.id and (l.lease_until is null or l.lease_until < now())
      order by l.failures, l.chunk limit 1)
    returning k.* into c;
    if found then
      return next c;
      requests := requests + c.lines;
    end if;
  end loop;
end $fn$;

-- Prolongs the leases of a node.
create or replace function batch_chunks_renew(p_node text, p_lease_ms double precision)
returns void language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update batch_chunks set lease_until = now() + p_lease_ms * interval '1 millisecond' where lease_node = p_node;
  update batches set lease_until = now() + p_lease_ms * interval '1 millisecond' where state = 'finalizing' and lease_node = p_node;
end $fn$;

-- All requests of a part have an answer.
create or replace function batch_chunk_done(p_org text, p_batch text, p_chunk integer)
returns void language sql as $fn$
  select books_moved();
  delete from batch_chunks where org_id = p_org and batch_id = p_batch and chunk = p_chunk
$fn$;

-- Gives a part back; nothing of its batch is taken for a while.
create or replace function batch_chunk_back(p_org text, p_batch text, p_chunk integer, p_node text, p_pause_ms double precision,
  p_failed boolean)
returns void language sql as $fn$
  select books_moved();
  update batch_chunks set lease_node = null, lease_until = null, failures = failures + p_failed::integer
  where org_id = p_org and batch_id = p_batch and chunk = p_chunk and lease_node = p_node;
  update batches set wake_at = greatest(wake_at, now() + p_pause_ms * interval '1 millisecond') where org_id = p_org and id = p_batch
$fn$;

-- Keeps the answer to a request, with its tokens: the first one counts.
create or replace function batch_result(p_org text, p_batch text, p_line integer, p_state text, p_content bytea, p_in bigint,
  p_cached bigint, p_out bigint, p_reasoning bigint)
returns void language sql as $fn$
  select books_moved();
  insert into batch_results (org_id, batch_id, line, state, content, in_tokens, cached_tokens, out_tokens, reasoning_tokens)
  select p_org, p_batch, p_line, p_state, p_content, p_in, p_cached, p_out, p_reasoning
  where exists (select from batches b where b.org_id = p_org and b.id = p_batch and b.ended_at is null)
  on conflict do nothing
$fn$;

-- Batches whose results are to be written now, leased to a node: those that are answered, were cancelled, or whose time is over,
-- once no node works on them any more, and no vendor: what a vendor has answered is billed first.
create or replace function batches_finish(p_node text, p_most integer, p_lease_ms double precision)
returns setof batches language sql as $fn$
  select books_moved();
  update batches b set state = 'finalizing', finalizing_at = coalesce(b.finalizing_at, now()), lease_node = p_node,
    lease_until = now() + p_lease_ms * interval '1 millisecond'
  from (
    select q.org_id, q.id from batches q
    where q.state in ('in_progress', 'finalizing') and (q.lease_until is null or q.lease_until < now())
      and not exists (
        select from batch_chunks k where k.org_id = q.org_id and k.batch_id = q.id
          and (q.state = 'in_progress' and q.cancelled_at is null and q.ends_at > now() or k.lease_until > now()))
      and not exists (select from batch_submissions s where s.org_id = q.org_id and s.batch_id = q.id)
    limit p_most for update skip locked
  ) due
  where b.org_id = due.org_id and b.id = due.id
  returning b.*
$fn$;

-- Ends a batch, once: what is left of its money goes back. False if it had ended, or another node writes its results now.
create or replace function batch_end(p_org text, p_batch text, p_node text, p_state text, p_counts jsonb, p_outcome bytea)
returns boolean language plpgsql as $fn$
declare
  b batches;
  r record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  select coalesce(sum(x.in_tokens), 0) as in_tokens, coalesce(sum(x.cached_tokens), 0) as cached_tokens,
    coalesce(sum(x.out_tokens), 0) as out_tokens, coalesce(sum(x.reasoning_tokens), 0) as reasoning_tokens
  into r from batch_results x where x.org_id = p_org and x.batch_id = p_batch;
  update batches q set state = p_state, ended_at = now(), lease_node = null, lease_until = null, outcome = p_outcome,
    cost = coalesce((select t.spent from allotments t
      where t.org_id = p_org and t.counter = q.currency and t.node = 'batch:' || p_batch), 0),
    succeeded = (p_counts->>'succeeded')::integer, errored = (p_counts->>'errored')::integer,
    cancelled = (p_counts->>'cancelled')::integer, expired = (p_counts->>'expired')::integer,
    in_tokens = r.in_tokens, cached_tokens = r.cached_tokens, out_tokens = r.out_tokens, reasoning_tokens = r.reasoning_tokens
  where q.org_id = p_org and q.id = p_batch and q.ended_at is null and q.lease_node = p_node
  returning * into b;
  if not found then
    return false;
  end if;
  perform batch_return(p_org, p_batch);
  delete from batch_chunks where org_id = p_org and batch_id = p_batch;
  delete from batch_submissions where org_id = p_org and batch_id = p_batch;
  delete from batch_results where org_id = p_org and batch_id = p_batch;
  perform event_append(p_org, 'batch.done', p_batch, jsonb_strip_nulls(jsonb_build_object('batch', p_batch, 'status', p_state,
    'appId', nullif(b.app_id, ''), 'requests', b.lines, 'succeeded', b.succeeded, 'errored', b.errored,
    'cancelled', b.cancelled, 'expired', b.expired)));
  return true;
end $fn$;

-- Gives back what is left of the money of a batch.
create or replace function batch_return(p_org text, p_batch text)
returns void language plpgsql as $fn$
declare
  a record;
  rest numeric;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  for a in
    select t.counter from allotments t where t.org_id = p_org and t.node = 'batch:' || p_batch order by t.counter
  loop
    insert into counters (org_id, counter) values (p_org, a.counter) on conflict do nothing;
    perform 1 from counters k where k.org_id = p_org and k.counter = a.counter for update;
    delete from allotments t where t.org_id = p_org and t.counter = a.counter and t.node = 'batch:' || p_batch
    returning t.granted - t.spent into rest;
    if found then
      update counters k set granted = k.granted - rest where k.org_id = p_org and k.counter = a.counter;
      perform ledger_move(p_org, a.counter, 'batch:' || p_batch, -rest, p_batch);
    end if;
  end loop;
end $fn$;

-- How many requests of a batch have which answer, and the tokens of all answers.
create or replace function batch_counts(b batches)
returns table(now_succeeded integer, now_errored integer, now_in bigint, now_cached bigint, now_out bigint, now_reasoning bigint)
language sql stable as $fn$
  select case when b.ended_at is not null then b.succeeded else coalesce(sum((r.state = 'succeeded')::integer)::integer, 0) end,
    case when b.ended_at is not null then b.errored else coalesce(sum((r.state = 'errored')::integer)::integer, 0) end,
    case when b.ended_at is not null then b.in_tokens else coalesce(sum(r.in_tokens)::bigint, 0) end,
    case when b.ended_at is not null then b.cached_tokens else coalesce(sum(r.cached_tokens)::bigint, 0) end,
    case when b.ended_at is not null then b.out_tokens else coalesce(sum(r.out_tokens)::bigint, 0) end,
    case when b.ended_at is not null then b.reasoning_tokens else coalesce(sum(r.reasoning_tokens)::bigint, 0) end
  from batch_results r where b.ended_at is null and r.org_id = b.org_id and r.batch_id = b.id
$fn$;

-- Cancels a batch that has not ended: no request of it is begun any more, and its vendor is asked to cancel what it has.
-- Cancelled again, it stays as it is.
create or replace function batch_cancel(p_org text, p_batch text)
returns void language sql as $fn$
  select books_moved();
  update batches set cancelled_at = now()
  where org_id = p_org and id = p_batch and ended_at is null and cancelled_at is null;
  update batch_submissions set next_at = now() where org_id = p_org and batch_id = p_batch and next_at > now()
$fn$;

-- Erases batches that have ended: one, or those past keeping, at most so many. Returns how many.
create or replace function batch_erase(p_org text, p_batch text)
returns integer language plpgsql as $fn$
declare
  erased integer;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  delete from batches where org_id = p_org and id = p_batch and ended_at is not null;
  get diagnostics erased = row_count;
  return erased;
end $fn$;

create or replace function retain_batches(most integer)
returns bigint language plpgsql as $fn$
declare
  gone bigint;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  delete from batches where (org_id, id) in (
    select b.org_id, b.id from batches b where b.ended_at is not null and b.erase_at < now() order by b.erase_at limit most);
  get diagnostics gone = row_count;
  return gone;
end $fn$;
