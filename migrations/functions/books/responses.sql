-- Kept responses: their removal. They are written by ledger_settle.

-- Removes responses of an organisation with their items and the replays of their calls: one, or those of an end user, or all
-- before a time, and then its conversations too. Returns how many.
create or replace function responses_remove(p_org text, p_id text, p_app text, p_end_user text, p_before timestamptz)
returns integer language plpgsql as $fn$
declare
  removed integer;
  replied timestamptz;
  object text;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  if p_id is not null then
    delete from responses r where r.org_id = p_org and r.day = response_day(p_id) and r.id = p_id
    returning r.replied_at, r.object_id into replied, object;
    get diagnostics removed = row_count;
    perform objects_erase(p_org, array[object]) where object is not null;
    delete from replies k where k.org_id = p_org and k.at = replied and k.ref = response_request(p_id);
    delete from response_items i where i.org_id = p_org and i.response_id = p_id;
    delete from response_events e where e.org_id = p_org and e.response_id = p_id;
    return removed;
  end if;
  with gone as (
    delete from responses r where r.org_id = p_org
      and (p_app is null or r.app_id = p_app) and (p_end_user is null or r.end_user_id = p_end_user)
      and (p_before is null or r.created_at < p_before)
    returning r.id, r.replied_at, r.object_id
  ), objects as (
    update content_objects o set state = 'erased', tried_at = now() from gone g where o.org_id = p_org and o.id = g.object_id
  ), replays as (
    delete from replies k using gone g
    where k.org_id = p_org and k.at = g.replied_at and k.ref = response_request(g.id)
  ), items as (
    delete from response_items i using gone g where i.org_id = p_org and i.response_id = g.id
  ), events as (
    delete from response_events e using gone g where e.org_id = p_org and e.response_id = g.id
  )
  select count(*) into removed from gone;
  return removed + conversations_remove(p_org, null, p_app, p_end_user, p_before);
end $fn$;

-- Removes what an owner has kept, with that of its end users. Returns how many rows.
create or replace function responses_of_owner_remove(p_org text, p_app text, p_person text)
returns integer language plpgsql as $fn$
declare
  removed integer := 0;
  r record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  for r in select q.id from responses q where q.org_id = p_org and q.app_id = p_app and q.person_id = p_person loop
    removed := removed + responses_remove(p_org, r.id, null, null, null);
  end loop;
  for r in select v.id from conversations v where v.org_id = p_org and v.app_id = p_app and v.person_id = p_person loop
    removed := removed + conversations_remove(p_org, r.id, null, null, null);
  end loop;
  return removed;
end $fn$;

-- Removes responses that are past keeping, with the replays of their calls, at most so many; tells how many rows.
create or replace function retain_responses(most integer)
returns bigint language plpgsql set enable_seqscan to 'off' set enable_hashjoin to 'off' set enable_mergejoin to 'off'
  set jit to 'off' as $fn$
declare
  responses_gone bigint;
  items_gone bigint;
  events_gone bigint;
  conversations_gone bigint;
  parts_gone bigint;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  with gone as (
    delete from responses where (org_id, day, id) in (
      select r.org_id, r.day, r.id from responses r where r.erase_at < now() order by r.erase_at limit most)
    returning org_id, id, replied_at, object_id
  ), objects as (
    update content_objects o set state = 'erased', tried_at = now() from gone g
    where o.org_id = g.org_id and o.id = g.object_id
  ), replays as (
    delete from replies k using gone g
    where k.org_id = g.org_id and k.at = g.replied_at and k.ref = response_request(g.id)
  )
  select count(*) into responses_gone from gone;
  delete from response_items where (org_id, id, response_id) in (
    select i.org_id, i.id, i.response_id from response_items i where i.erase_at < now() order by i.erase_at limit most);
  get diagnostics items_gone = row_count;
  delete from response_events where (org_id, response_id, part) in (
    select e.org_id, e.response_id, e.part from response_events e where e.erase_at < now() order by e.erase_at limit most);
  get diagnostics events_gone = row_count;
  delete from conversations where (org_id, id) in (
    select v.org_id, v.id from conversations v where v.erase_at < now() order by v.erase_at limit most);
  get diagnostics conversations_gone = row_count;
  with gone as (
    delete from conversation_items where (org_id, conversation_id, place) in (
      select i.org_id, i.conversation_id, i.place from conversation_items i
      where i.erase_at < now() order by i.erase_at limit most)
    returning org_id, object_id
  ), objects as (
    update content_objects o set state = 'erased', tried_at = now() from gone g
    where o.org_id = g.org_id and o.id = g.object_id
  )
  select count(*) into parts_gone from gone;
  return greatest(responses_gone, items_gone, events_gone, conversations_gone, parts_gone);
end $fn$;

-- The day (UTC) in the id of a response; null if there is none.
create or replace function response_day(p_id text)
returns date language plpgsql immutable as $fn$
declare
  days bigint := 0;
begin
  if p_id !~ '^resp_[A-Za-z0-9_-]{16}[0-9a-z]{4}$' then
    return null;
  end if;
  for at in 22..25 loop
    days := days * 36 + strpos('0123456789abcdefghijklmnopqrstuvwxyz', substr(p_id, at, 1)) - 1;
  end loop;
  return date '1970-01-01' + days::integer;
end $fn$;

-- The gateway's request id of the call that made a response.
create or replace function response_request(p_id text)
returns text language sql immutable as $fn$ select 'req_' || substr(p_id, 6, 16) $fn$;

-- A response with those that it continues, the newest first, as far as its owner has them: at most so many, and until their contents
-- are together larger than so many bytes. Each turn is one look by its key: a plan of its own for each would take longer than that.
create or replace function response_thread(p_org text, p_day date, p_id text, p_app text, p_person text, p_end_user text,
  p_oldest timestamptz, p_most integer, p_most_bytes bigint)
returns setof responses language plpgsql set plan_cache_mode to 'force_generic_plan' as $fn$
declare
  r responses;
  at_day date := p_day;
  at_id text := p_id;
  bytes bigint := 0;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  for turn in 1..p_most loop
    -- A partition of today has no statistics yet: without the fence, its index by owner may be read instead.
    select * into r from (
      select * from responses o where o.org_id = p_org and o.day = at_day and o.id = at_id offset 0) q
    where q.app_id = p_app and q.person_id = p_person
      and q.end_user_id = p_end_user and q.erase_at > now() and q.created_at > p_oldest
      and q.state in ('completed', 'incomplete');
    exit when not found;
    return next r;
    bytes := bytes + octet_length(r.content) + coalesce(r.object_bytes, 0);
    exit when r.previous_id is null or bytes > p_most_bytes;
    at_id := r.previous_id;
    at_day := response_day(at_id);
  end loop;
end $fn$;

-- Begins a response that runs without its client, on a node that has it until its lease ends.
create or replace function response_begin(p_org text, p_kept jsonb, p_lease_ms double precision, p_content bytea)
returns void language sql as $fn$
  select books_moved();
  insert into responses (org_id, day, id, previous_id, app_id, person_id, end_user_id, model, state, is_background, lease_until,
    erase_at, key_id, request_id, request_hash, request, content)
  values (p_org, (p_kept->>'day')::date, p_kept->>'id', p_kept->>'previous', p_kept->>'app', p_kept->>'person',
    p_kept->>'endUser', p_kept->>'model', 'in_progress', true, now() + p_lease_ms * interval '1 millisecond',
    to_timestamp((p_kept->>'eraseAt')::double precision / 1000), coalesce(p_kept->'asked'->>'key', p_kept->'again'->>'key'),
    p_kept->'asked'->>'request', decode(p_kept->'asked'->>'hash', 'base64'), decode(p_kept->'again'->>'sealed', 'base64'), p_content)
$fn$;

-- Takes a response whose node has died for another call, with a new reference, if nothing of it was billed: once, or any number of times
-- if it runs at its vendor. Its request id is spent by
-- that call from here on, so that a late settlement of the first one bills nothing.
-- @returns taken, with the number of the next part of its events; spent: it may have been billed; gone: it runs, has ended or was taken
create or replace function response_repeat(p_org text, p_id text, p_ref text, p_lease_ms double precision)
returns table(outcome text, part integer) language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
  h record;
  first text := response_request(p_id);
  asked text;
  spent_on date;
  free boolean;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  part := 0;
  select q.key_id, q.request_id, coalesce(q.ref, first) as ref, q.work is not null as is_at_vendor into r from responses q
  where q.org_id = p_org and q.day = response_day(p_id) and q.id = p_id and q.state = 'in_progress' and q.lease_until < now()
    and (q.ref is null or q.work is not null) and q.request is not null for update;
  if not found then
    outcome := 'gone';
    return next;
    return;
  end if;
  asked := coalesce(r.request_id, first);
  first := r.ref;
  spent_on := spent_day(asked);
  select o.state, o.usage is null as is_unbilled into h from holds o where o.org_id = p_org and o.ref = first for update;
  -- An open hold without a bill would be released; others mean that the call was billed, or may have been.
  free := not found or (h.state = 'open' and h.is_unbilled);
  if free then
    delete from holds o where o.org_id = p_org and o.ref = first;
    -- A call that only follows its vendor's work may have left its request id without a hold.
    if found or r.is_at_vendor then
      delete from spent_requests s where s.org_id = p_org and s.key_id = r.key_id and s.request_id = asked and s.ref = first
        and s.settled_at is null;
      delete from spent_days s
      where s.org_id = p_org and s.key_id = r.key_id and s.request_id = asked and s.day = spent_on and s.ref = first
        and s.settled_at is null;
    end if;
    if spent_on is null then
      insert into spent_requests (org_id, key_id, request_id, ref) values (p_org, r.key_id, asked, p_ref) on conflict do nothing;
    else
      insert into spent_days (org_id, key_id, request_id, day, ref) values (p_org, r.key_id, asked, spent_on, p_ref)
      on conflict do nothing;
    end if;
    free := found;
  end if;
  if not free then
    outcome := 'spent';
    return next;
    return;
  end if;
  update responses q set ref = p_ref, request = case when r.is_at_vendor then q.request end, lease_until = now() + p_lease_ms * interval '1 millisecond'
  where q.org_id = p_org and q.day = response_day(p_id) and q.id = p_id;
  outcome := 'taken';
  select coalesce(max(e.part) + 1, 0) into part from response_events e where e.org_id = p_org and e.response_id = p_id;
  return next;
end $fn$;

-- The data of the event of a response that has ended, without its content, with the ids that usage records have: that of its
-- client, or the gateway's, and the gateway's, which is in its own id.
create or replace function response_facts(p_id text, p_state text, p_model text, p_app text, p_request text)
returns jsonb language sql immutable as $fn$
  select jsonb_strip_nulls(jsonb_build_object('response', p_id, 'status', p_state, 'model', p_model, 'appId', nullif(p_app, ''),
    'requestId', coalesce(p_request, response_request(p_id)), 'ref', response_request(p_id)))
$fn$;

-- Notes that a response runs at its vendor. @returns false if it has ended, was erased, or another call makes it
create or replace function response_works(p_org text, p_id text, p_ref text, p_work bytea)
returns boolean language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update responses q set work = p_work
  where q.org_id = p_org and q.day = response_day(p_id) and q.id = p_id and q.state = 'in_progress'
    and coalesce(q.ref, response_request(p_id)) = p_ref;
  return found;
end $fn$;

-- Ends a response that runs, as failed or cancelled: one that is made by a certain call, or any. @returns whether it ran
create or replace function response_end(p_org text, p_id text, p_state text, p_content bytea, p_object text, p_object_bytes bigint,
  p_ref text)
returns boolean language plpgsql as $fn$
declare
  r record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update responses q set state = p_state, content = p_content, object_id = p_object, object_bytes = p_object_bytes, lease_until = null,
    request = null, work = null
  where q.org_id = p_org and q.day = response_day(p_id) and q.id = p_id and q.state in ('queued', 'in_progress')
    and (p_ref is null or coalesce(q.ref, response_request(p_id)) = p_ref)
  returning q.model, q.app_id, q.request_id into r;
  if not found then return false; end if;
  perform from objects_name(p_org, array[p_object]) where p_object is not null;
  perform event_append(p_org, 'response.' || p_state, p_id, response_facts(p_id, p_state, r.model, r.app_id, r.request_id));
  return true;
end $fn$;

-- Changes the content of a response that was cancelled. @returns false if it is not there
create or replace function response_amend(p_org text, p_id text, p_content bytea, p_object text, p_object_bytes bigint)
returns boolean language plpgsql as $fn$
declare
  old text;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  select q.object_id into old from responses q
  where q.org_id = p_org and q.day = response_day(p_id) and q.id = p_id and q.state = 'cancelled' for update;
  if not found then return false; end if;
  update responses q set content = p_content, object_id = p_object, object_bytes = p_object_bytes
  where q.org_id = p_org and q.day = response_day(p_id) and q.id = p_id;
  perform objects_erase(p_org, array[old]) where old is not null;
  perform from objects_name(p_org, array[p_object]) where p_object is not null;
  return true;
end $fn$;

-- Renews the leases of responses that calls of a node make. @returns those that still run
create or replace function responses_renew(p_orgs text[], p_ids text[], p_refs text[], p_lease_ms double precision)
returns setof text language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  return query
  update responses r set lease_until = now() + p_lease_ms * interval '1 millisecond'
  from unnest(p_orgs, p_ids, p_refs) as x(org, id, ref)
  where r.org_id = x.org and r.day = response_day(x.id) and r.id = x.id and r.state = 'in_progress' and coalesce(r.ref, response_request(r.id)) = x.ref
  returning r.id;
end $fn$;
