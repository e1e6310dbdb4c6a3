-- Settings.

-- Writes or deletes a setting, with its audit record, or says why not. p_above: the layers that govern it, as [scope, subject].
create or replace function setting_write(p_scope text, p_subject text, p_org_id text, p_key_path text, p_value jsonb,
  p_delete boolean, p_locked boolean, p_enforcement text, p_if_match bigint, p_reason text, p_actor_type text, p_actor_id
  text, p_above jsonb, p_max_locks integer, p_max_keys integer)
returns table(verdict text, revision bigint, origin text, would_deny boolean) language plpgsql as $fn$
declare
  found_row settings;
  known boolean;
begin
  -- One write a layer at a time: revisions and limits are exact.
  perform pg_advisory_xact_lock(hashtextextended('settings ' || p_scope || ' ' || p_subject, 0));
  select * into found_row from settings s
    where s.scope = p_scope and s.subject = p_subject and s.key_path = p_key_path;
  known := found and not found_row.is_deleted;
  revision := coalesce(found_row.revision, 0);
  would_deny := false;
  if p_if_match is not null and p_if_match <> revision then
    verdict := 'conflict';
    return next;
    return;
  end if;
  if p_delete and not known then
    verdict := 'not_found';
    return next;
    return;
  end if;
  if not p_delete then
    select s.scope into origin from settings s join jsonb_array_elements(p_above) with ordinality above(layer, place)
        on s.scope = above.layer ->> 0 and s.subject = above.layer ->> 1
      where s.locked and not s.is_deleted and s.enforcement = 'enforce' and key_paths_overlap(s.key_path, p_key_path)
      order by above.place limit 1;
    if found then
      verdict := 'locked';
      return next;
      return;
    end if;
    would_deny := exists (
      select from settings s join jsonb_array_elements(p_above) above(layer)
        on s.scope = above.layer ->> 0 and s.subject = above.layer ->> 1
      where s.locked and not s.is_deleted and s.enforcement = 'shadow' and key_paths_overlap(s.key_path, p_key_path));
    if p_locked and p_max_locks <= (select count(*) from settings s where s.scope = p_scope and s.subject = p_subject
        and s.locked and not s.is_deleted and s.key_path <> p_key_path) then
      verdict := 'too_many_locks';
      return next;
      return;
    end if;
    if not known and p_max_keys <= (select count(*) from settings s where s.scope = p_scope and s.subject = p_subject
        and not s.is_deleted) then
      verdict := 'too_many_keys';
      return next;
      return;
    end if;
  end if;
  revision := revision + 1;
  perform audit_append('config.revision', p_org_id, p_actor_type, p_actor_id, jsonb_strip_nulls(jsonb_build_object(
    'scope', p_scope, 'subject', p_subject, 'keyPath', p_key_path, 'revision', revision, 'reason', p_reason,
    'locked', case when p_delete then null else p_locked end,
    'enforcement', case when p_delete then null else p_enforcement end,
    'wouldDeny', case when would_deny then true end))
    || jsonb_build_object(
      'from', case when known then found_row.value else 'null'::jsonb end,
      'to', case when p_delete then 'null'::jsonb else p_value end));
  insert into settings as s (scope, subject, key_path, value, locked, enforcement, revision, is_deleted)
    values (p_scope, p_subject, p_key_path, case when p_delete then null else p_value end, p_locked and not p_delete,
      p_enforcement, setting_write.revision, p_delete)
    on conflict (scope, subject, key_path) do update set value = excluded.value, locked = excluded.locked,
      enforcement = excluded.enforcement, revision = excluded.revision, is_deleted = excluded.is_deleted,
      updated_at = now();
  verdict := 'written';
  return next;
end $fn$;

-- Whether two key paths are the same, or one of them contains the other.
create or replace function key_paths_overlap(a text, b text)
returns boolean language sql immutable as $fn$
  select a = b or starts_with(a, b || '.') or starts_with(b, a || '.')
$fn$;
