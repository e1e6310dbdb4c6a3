-- Conversations. Clients add items to them, and so does ledger_settle.

-- Removes conversations of an organisation with their items: one, those of an end user, or those without a change since a time,
-- and the older items of others. Returns how many.
create or replace function conversations_remove(p_org text, p_id text, p_app text, p_end_user text, p_before timestamptz)
returns integer language plpgsql as $fn$
declare
  removed integer;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  -- Those that are being added to have all their items when this is theirs.
  perform from conversations v where v.org_id = p_org and (p_id is null or v.id = p_id)
    and (p_app is null or v.app_id = p_app) and (p_end_user is null or v.end_user_id = p_end_user)
  order by v.id for update;
  if p_before is not null then
    with items as (
      delete from conversation_items i using conversations v
      where v.org_id = p_org and (p_id is null or v.id = p_id) and (p_app is null or v.app_id = p_app)
        and (p_end_user is null or v.end_user_id = p_end_user)
        and i.org_id = v.org_id and i.conversation_id = v.id and i.created_at < p_before
      returning i.object_id
    )
    update content_objects o set state = 'erased', tried_at = now() from items i where o.org_id = p_org and o.id = i.object_id;
  end if;
  with gone as (
    delete from conversations v where v.org_id = p_org and (p_id is null or v.id = p_id)
      and (p_app is null or v.app_id = p_app) and (p_end_user is null or v.end_user_id = p_end_user)
      and (p_before is null or v.changed_at < p_before)
    returning v.id
  ), items as (
    delete from conversation_items i using gone g where i.org_id = p_org and i.conversation_id = g.id
    returning i.object_id
  ), objects as (
    update content_objects o set state = 'erased', tried_at = now() from items i where o.org_id = p_org and o.id = i.object_id
  )
  select count(*) into removed from gone;
  return removed;
end $fn$;

-- Makes a conversation, if its owner has fewer than so many. Returns its time; null if there is no room.
create or replace function conversation_begin(p_org text, p_id text, p_app text, p_person text, p_end_user text,
  p_erase_at timestamptz, p_metadata bytea, p_most bigint)
returns timestamptz language plpgsql as $fn$
declare
  created timestamptz;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  -- One at a time for each owner: together they do not exceed it.
  perform pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'conversations', p_org, p_app, p_person, p_end_user), 0));
  if p_most <= (
    select count(*) from (
      select from conversations v
      where v.org_id = p_org and v.app_id = p_app and v.person_id = p_person and v.end_user_id = p_end_user
      limit p_most) m) then
    return null;
  end if;
  insert into conversations (org_id, id, app_id, person_id, end_user_id, erase_at, metadata)
  values (p_org, p_id, p_app, p_person, p_end_user, p_erase_at, p_metadata) returning created_at into created;
  return created;
end $fn$;

-- Appends items to a conversation. Its row is locked until the commit: places are in the order of commits. An item whose object
-- was given up meanwhile leaves its place empty.
-- @param p_objects the objects that have the contents of items; null, or an empty name, for those that the row has itself
-- @returns false if there is no such conversation
create or replace function conversation_append(p_org text, p_id text, p_ids text[], p_contents bytea[], p_objects text[],
  p_object_bytes bigint[], p_erase_at timestamptz)
returns boolean language plpgsql as $fn$
declare
  place_of_first bigint;
  named text[];
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update conversations set next_place = next_place + cardinality(p_ids), changed_at = clock_timestamp(),
    erase_at = greatest(erase_at, p_erase_at)
  where org_id = p_org and id = p_id
  returning next_place - cardinality(p_ids) into place_of_first;
  if not found then
    return false;
  end if;
  if p_objects is not null then
    named := array(select objects_name(p_org, p_objects));
  end if;
  insert into conversation_items (org_id, conversation_id, place, id, erase_at, content, object_id, object_bytes)
  select p_org, p_id, place_of_first + i.number - 1, i.id, p_erase_at, i.content, nullif(i.object_id, ''),
    nullif(i.object_bytes, 0)
  from unnest(p_ids, p_contents, p_objects, p_object_bytes) with ordinality i(id, content, object_id, object_bytes, number)
  where coalesce(i.object_id, '') = '' or i.object_id = any(named);
  return true;
end $fn$;

-- Appends items that a client adds, if the conversation then has at most so many, and so many bytes: added | full | missing.
create or replace function conversation_add(p_org text, p_id text, p_ids text[], p_contents bytea[], p_objects text[],
  p_object_bytes bigint[], p_erase_at timestamptz, p_most_items integer, p_most_bytes bigint)
returns text language plpgsql as $fn$
declare
  items_there bigint;
  bytes_there bigint;
  bytes_more bigint;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  perform from conversations v where v.org_id = p_org and v.id = p_id for update;
  if not found then return 'missing'; end if;
  select count(*), coalesce(sum(octet_length(i.content) + coalesce(i.object_bytes, 0)), 0) into items_there, bytes_there
  from conversation_items i where i.org_id = p_org and i.conversation_id = p_id;
  select coalesce(sum(octet_length(c.content) + coalesce(c.object_bytes, 0)), 0) into bytes_more
  from unnest(p_contents, p_object_bytes) c(content, object_bytes);
  if cardinality(p_ids) > 0 and (items_there + cardinality(p_ids) > p_most_items or bytes_there + bytes_more > p_most_bytes) then
    return 'full';
  end if;
  perform conversation_append(p_org, p_id, p_ids, p_contents, p_objects, p_object_bytes, p_erase_at);
  return 'added';
end $fn$;

-- Appends the items of responses that were settled to their conversations. A response that was cancelled or erased while it ran
-- adds nothing. Others get the place of their first item: the items before it are those that they continue.
-- @param settled the numbers of those that were billed now
create or replace function conversations_append(items json, contents bytea, settled integer[])
returns void language plpgsql as $fn$
declare
  r record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  -- Two commits lock their conversations in the same order.
  for r in
    select x.org, x.kept, x.kept->'conversation'->>'id' as id, jsonb_array_length(x.kept->'conversation'->'items') as count
    from json_to_recordset(items) as x(item integer, org text, kept jsonb)
    where x.item = any(settled)
      and ((x.kept->>'background')::boolean is not true or exists (
        select from responses q
        where q.org_id = x.org and q.day = (x.kept->>'day')::date and q.id = x.kept->>'id' and q.state <> 'cancelled'))
    order by 1, 3, x.item
  loop
    perform conversation_append(r.org, r.id, array_agg(i.item->>'id' order by i.number),
      array_agg(substr(contents, (i.item->>'from')::integer, (i.item->>'bytes')::integer) order by i.number),
      array_agg(i.item->'object'->>'id' order by i.number), array_agg((i.item->'object'->>'bytes')::bigint order by i.number),
      to_timestamp((r.kept->>'eraseAt')::double precision / 1000))
    from jsonb_array_elements(r.kept->'conversation'->'items') with ordinality i(item, number)
    having count(*) > 0;
    update responses q set conversation_place = v.next_place - r.count from conversations v
    where v.org_id = r.org and v.id = r.id
      and q.org_id = r.org and q.day = (r.kept->>'day')::date and q.id = r.kept->>'id';
  end loop;
end $fn$;

-- Removes an item from a conversation. @returns false if there is no such item
create or replace function conversation_cut(p_org text, p_id text, p_item text)
returns boolean language plpgsql as $fn$
declare
  removed integer;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  with gone as (
    delete from conversation_items i where i.org_id = p_org and i.conversation_id = p_id and i.id = p_item
    returning i.object_id
  ), objects as (
    update content_objects o set state = 'erased', tried_at = now() from gone g where o.org_id = p_org and o.id = g.object_id
  )
  select count(*) into removed from gone;
  return removed > 0;
end $fn$;
