-- Objects in a bucket or a folder that have the contents of rows. Each is recorded before it is stored, and until it is removed.

-- Records an object that is about to be stored.
create or replace function object_begin(p_org text, p_id text)
returns void language sql as $fn$
  select books_moved();
  insert into content_objects (org_id, id) values (p_org, p_id)
$fn$;

-- A row names each of these objects now. @returns those that were there: others were given up
create or replace function objects_name(p_org text, p_ids text[])
returns setof text language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  return query
  update content_objects o set state = 'named' where o.org_id = p_org and o.id = any(p_ids) and o.state = 'storing'
  returning o.id;
end $fn$;

-- No row names these objects any more. A reader of such a row has a minute for its object.
create or replace function objects_erase(p_org text, p_ids text[])
returns void language sql as $fn$
  select books_moved();
  update content_objects o set state = 'erased', tried_at = now()
  where o.org_id = p_org and o.id = any(p_ids) and o.state <> 'erased'
$fn$;

-- Erases objects that no row has named for a time, and returns those that are to be removed: not tried for a minute, the
-- longest ago first.
create or replace function objects_to_remove(p_most integer, p_storing_ms double precision)
returns table(org text, object text) language plpgsql as $fn$
#variable_conflict use_column
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update content_objects c set state = 'erased' from (
    select o.org_id, o.id from content_objects o
    where o.state = 'storing' and o.created_at < now() - p_storing_ms * interval '1 millisecond'
    order by o.created_at limit p_most for update skip locked) late
  where c.org_id = late.org_id and c.id = late.id and c.state = 'storing';
  return query
    update content_objects c set tried_at = now() from (
      select o.org_id, o.id from content_objects o
      where o.state = 'erased' and (o.tried_at is null or o.tried_at < now() - interval '1 minute')
      order by o.tried_at nulls first limit p_most for update skip locked) due
    where c.org_id = due.org_id and c.id = due.id
    returning c.org_id, c.id;
end $fn$;

-- An erased object is removed.
create or replace function object_gone(p_org text, p_id text)
returns void language sql as $fn$
  select books_moved();
  delete from content_objects where org_id = p_org and id = p_id and state = 'erased'
$fn$;

-- Names the objects of responses that a settlement has written. A response whose object was given up meanwhile is not kept.
-- @param settled the numbers of those that were billed now
create or replace function settled_objects_name(items json, settled integer[])
returns void language plpgsql as $fn$
declare
  r record;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  for r in
    select q.org_id, q.day, q.id, q.object_id
    from json_to_recordset(items) as x(item integer, org text, kept jsonb)
    join responses q on q.org_id = x.org and q.day = (x.kept->>'day')::date and q.id = x.kept->>'id'
      and q.object_id = x.kept->'object'->>'id'
    where x.item = any(settled)
    order by q.org_id, q.object_id
  loop
    if not exists (select from objects_name(r.org_id, array[r.object_id])) then
      delete from responses q where q.org_id = r.org_id and q.day = r.day and q.id = r.id;
    end if;
  end loop;
end $fn$;
