-- Events of organisations.

-- Runs in the shard, and beside it: Citus places the row by the organisation.
create or replace function event_append(p_org text, p_type text, p_subject text, p_data jsonb)
returns void language plpgsql as $fn$
declare
  owner text := coalesce(p_org, books_key());
  event_id text := 'evt_' || replace(gen_random_uuid()::text, '-', '');
  happened_at timestamptz := clock_timestamp();
  next_place bigint := next_transfer_id();
begin
  insert into events (org_id, id, type, subject, data, at, place)
  values (owner, event_id, p_type, p_subject, p_data, happened_at, next_place);
end $fn$;

-- The oldest events of a shard, and their removal.
create or replace function events_oldest(p_most integer)
returns table(org_id text, id text, type text, subject text, data jsonb, at timestamptz) language sql stable as $fn$
  select e.org_id, e.id, e.type, e.subject, e.data, e.at from events e order by e.place, e.id limit p_most
$fn$;

-- Removes events that are told of elsewhere.
create or replace function events_remove(items jsonb)
returns void language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  delete from events e using jsonb_to_recordset(items) as x(org_id text, id text)
  where e.org_id = x.org_id and e.id = x.id;
end $fn$;
