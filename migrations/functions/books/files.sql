-- Files that clients keep here.

-- Records a file whose parts are about to be stored, if its organisation has room for it: one at a time, so that together
-- they do not exceed it. An upload counts as the file that it makes, and its parts do not count as files. Tells whether it has
-- room.
create or replace function file_begin(p_org text, p_id text, p_owner json, p_purpose text, p_bytes bigint, p_parts integer,
  p_erase_ms double precision, p_facts bytea, p_most_bytes bigint, p_most_files bigint)
returns boolean language plpgsql as $fn$
declare
  files bigint;
  taken numeric;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  perform pg_advisory_xact_lock(hashtextextended('client_files ' || p_org, 0));
  select count(*), coalesce(sum(f.bytes), 0) into files, taken from client_files f where f.org_id = p_org;
  if files >= 1000000 or taken + p_bytes > p_most_bytes then
    return false;
  end if;
  -- Few organisations come here: the files themselves are counted only where there are as many rows.
  if files >= p_most_files and (p_purpose = '.upload' or p_purpose not like '.%') then
    select count(*) into files from client_files f
    where f.org_id = p_org and f.state <> 'erased' and (f.purpose = '.upload' or f.purpose not like '.%');
    if files >= p_most_files then
      return false;
    end if;
  end if;
  insert into client_files (org_id, id, app_id, person_id, end_user_id, purpose, state, bytes, parts, erase_at, facts)
  values (p_org, p_id, p_owner->>'app', p_owner->>'person', p_owner->>'endUser', p_purpose, 'storing', p_bytes, p_parts,
    now() + p_erase_ms * interval '1 millisecond', p_facts);
  return true;
end $fn$;

-- Erases files of an organisation, and uploads that go on: one, or those to which all filters apply. Returns the number of files.
create or replace function files_erase(p_org text, p_id text, p_app text, p_end_user text, p_before timestamptz)
returns integer language plpgsql as $fn$
declare
  erased integer;
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  with gone as (
    update client_files f set state = 'erased'
    where f.org_id = p_org and f.state <> 'erased' and (p_id is null or f.id = p_id)
      and (p_app is null or f.app_id = p_app) and (p_end_user is null or f.end_user_id = p_end_user)
      and (p_before is null or f.created_at < p_before)
    returning f.purpose
  )
  select count(*) into erased from gone where p_id is not null or purpose not like '.%';
  -- Copies of them at vendors.
  update client_files c set state = 'erased'
  where c.org_id = p_org and c.state <> 'erased' and c.purpose like '.vendor:%'
    and exists (select from client_files f where f.org_id = p_org and '.vendor:' || f.id = c.purpose and f.state = 'erased');
  return erased;
end $fn$;

-- Erases the files of an owner that was closed, with those of all its end users.
create or replace function files_of_owner_erase(p_org text, p_app text, p_person text)
returns void language sql as $fn$
  select books_moved();
  update client_files set state = 'erased'
  where org_id = p_org and app_id = p_app and person_id = p_person and state <> 'erased'
$fn$;

-- A file's parts are all stored: it is there from now on. Null if it was given up meanwhile.
create or replace function file_stored(p_org text, p_id text)
returns timestamptz language sql as $fn$
  select books_moved();
  update client_files set state = 'stored' where org_id = p_org and id = p_id and state = 'storing' returning created_at
$fn$;

-- A copy of a file at a vendor is recorded: it is there from now on. Outcomes: stored | other (another copy is there that is not
-- known, which may be at the same vendor) | gone (the file was erased, or the record given up). One at a time.
create or replace function file_copy_stored(p_org text, p_id text, p_file text, p_known text[])
returns text language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  perform pg_advisory_xact_lock(hashtextextended('client_files ' || p_org, 0));
  if exists (select from client_files c where c.org_id = p_org and c.purpose = '.vendor:' || p_file and c.state = 'stored'
    and c.id <> all(p_known)) then
    return 'other';
  end if;
  -- An erasure that has begun ends before.
  perform from client_files f where f.org_id = p_org and f.id = p_file and f.state = 'stored' for share;
  if not found then
    return 'gone';
  end if;
  update client_files c set state = 'stored' where c.org_id = p_org and c.id = p_id and c.state = 'storing';
  return case when found then 'stored' else 'gone' end;
end $fn$;

-- Erases a file, and its copies at vendors: nobody sees it from now on. Its row goes with its last part.
create or replace function file_erase(p_org text, p_id text)
returns void language sql as $fn$
  select books_moved();
  update client_files set state = 'erased' where org_id = p_org and id = p_id;
  update client_files set state = 'erased' where org_id = p_org and purpose = '.vendor:' || p_id
$fn$;

-- Erases the files whose time is over, and those that were not stored to their end, and names files whose parts are to be
-- removed: those that were not tried for a minute, the longest ago first.
create or replace function files_to_remove(p_most integer, p_storing_ms double precision)
returns table(org text, file text, parts integer) language plpgsql as $fn$
#variable_conflict use_column
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update client_files set state = 'erased' where state = 'stored' and (org_id, id) in (
    select f.org_id, f.id from client_files f where f.erase_at < now() and f.state = 'stored' order by f.erase_at limit p_most);
  update client_files set state = 'erased' where state = 'storing' and (org_id, id) in (
    select f.org_id, f.id from client_files f
    where f.state = 'storing' and f.created_at < now() - p_storing_ms * interval '1 millisecond' limit p_most);
  return query
    update client_files c set tried_at = now() from (
      select f.org_id, f.id from client_files f
      where f.state = 'erased' and (f.tried_at is null or f.tried_at < now() - interval '1 minute')
      order by f.tried_at nulls first limit p_most for update skip locked) due
    where c.org_id = due.org_id and c.id = due.id
    returning c.org_id, c.id, c.parts;
end $fn$;

-- Completes an upload: its file is there from now on, and the upload names it. Of two that do so, one succeeds.
create or replace function upload_complete(p_org text, p_upload text, p_from text, p_to text, p_file text, p_purpose text,
  p_erase_ms double precision)
returns boolean language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update client_files set purpose = p_to where org_id = p_org and id = p_upload and purpose = p_from and state = 'stored';
  if not found then
    return false;
  end if;
  update client_files set purpose = p_purpose, erase_at = now() + p_erase_ms * interval '1 millisecond'
  where org_id = p_org and id = p_file and state = 'stored';
  if not found then
    raise exception 'the file of an upload is gone';
  end if;
  return true;
end $fn$;

-- The last part of an erased file is removed.
create or replace function file_gone(p_org text, p_id text)
returns void language sql as $fn$
  select books_moved();
  delete from client_files where org_id = p_org and id = p_id and state = 'erased'
$fn$;
