-- Tenants.

-- Tells all nodes that something about a subject has changed.
create or replace function note_change(p_subject text)
returns void language plpgsql as $fn$
begin
  insert into changes (subject) values (p_subject);
  notify weir_changes;
end $fn$;

-- Tells all nodes that a tenant has changed.
create or replace function note_tenant_change()
returns trigger language plpgsql as $fn$
declare
  changed tenants;
begin
  if tg_op = 'DELETE' then changed := old; else changed := new; end if;
  perform note_change(changed.kind || ':' || changed.id);
  return null;
end $fn$;

-- Tells all nodes that a row has changed. Arguments: a kind, and the column of its id.
create or replace function note_row_change()
returns trigger language plpgsql as $fn$
declare
  changed jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  perform note_change(tg_argv[0] || ':' || (changed ->> tg_argv[1]));
  return null;
end $fn$;

-- Stores the tenants of the catalogue file: rows of `{kind, id, org, document}`. Rows that the file does not own stay; their names
-- are returned.
create or replace function tenants_declare(p_changed jsonb)
returns table(kind text, id text) language plpgsql as $fn$
#variable_conflict use_column
begin
  -- One writer at a time: batches lock rows in their own order.
  perform pg_advisory_xact_lock(hashtext('tenants'));
  insert into tenants as t (kind, id, org_id, document, is_declared)
    select x.kind, x.id, x.org, x.document, true
    from jsonb_to_recordset(p_changed) as x(kind text, id text, org text, document jsonb)
  on conflict (kind, id) do update set org_id = excluded.org_id, document = excluded.document,
    revision = nextval('tenant_revisions'), changed_at = now()
  where t.is_declared;
  return query
    select t.kind, t.id from jsonb_to_recordset(p_changed) as x(kind text, id text)
    join tenants t on t.kind = x.kind and t.id = x.id where not t.is_declared;
end $fn$;

-- A tenant as the control API tells it.
create or replace function tenant_row(t tenants)
returns jsonb language sql immutable as $fn$
  select jsonb_build_object('kind', t.kind, 'id', t.id, 'document', t.document, 'declared', t.is_declared,
    'status', t.status, 'revision', t.revision::text, 'createdAt', to_json(t.created_at) #>> '{}',
    'changedAt', to_json(t.changed_at) #>> '{}') ||
    case when t.is_invited and t.status <> 'closed' then '{"invited": true}'::jsonb else '{}' end
$fn$;

-- Closes a tenant with all that belongs to it; an organisation loses the vendor keys that it brought.
create or replace function tenant_close(t tenants)
returns void language plpgsql as $fn$
begin
  update app_keys set status = 'revoked', revoked_at = now()
    where status <> 'revoked' and app_id in (
      select id from tenants where kind = 'app' and org_id = t.org_id and (t.kind = 'org' or (t.kind = 'app' and id = t.id)));
  delete from org_upstream_keys where t.kind = 'org' and org_id = t.org_id;
  update tenants set document = jsonb_set(document, '{members}', (document -> 'members') - t.id),
      revision = nextval('tenant_revisions'), changed_at = now()
    where t.kind = 'user' and kind = 'team' and org_id = t.org_id and document -> 'members' ? t.id;
  update tenants set status = 'closed', revision = nextval('tenant_revisions'), changed_at = now(),
      document = case kind
        when 'org' then document || jsonb_build_object('name', (document ->> 'name') || ' (closed)')
        when 'user' then document || jsonb_build_object('email', id || '@closed.invalid')
        else document end
    where org_id = t.org_id and status <> 'closed' and (t.kind = 'org' or (kind = t.kind and id = t.id));
end $fn$;

-- Changes one tenant. A change that creates has `invited`; the last owner is the last who has accepted.
create or replace function tenant_change(c jsonb)
returns jsonb language plpgsql as $fn$
declare
  t tenants;
  v_org text := c ->> 'org';
  v_document jsonb := c -> 'document';
  v_status text;
  v_added text[];
begin
  if c ->> 'op' = 'create' then
    if c ->> 'kind' <> 'org' then
      perform from tenants where kind = 'org' and id = v_org and status <> 'closed' for update;
      if not found then
        return '{"outcome": "no_org"}';
      end if;
    end if;
    if (c ->> 'most')::integer <= (
      select count(*) from tenants where org_id = v_org and kind = c ->> 'kind' and status <> 'closed') then
      return '{"outcome": "full"}';
    end if;
    if c ->> 'kind' = 'user' and exists (
      select from tenants where kind = 'user' and org_id = v_org and label = lower(v_document ->> 'email')) then
      return '{"outcome": "exists"}';
    end if;
  else
    select * into t from tenants
      where kind = c ->> 'kind' and id = c ->> 'id' and status <> 'closed' and org_id = coalesce(c ->> 'within', org_id)
      for update;
    if not found then
      return '{"outcome": "absent"}';
    elsif (c ->> 'revision')::bigint <> t.revision then
      return jsonb_build_object('outcome', 'stale', 'row', tenant_row(t));
    end if;
    select jsonb_object_agg(key, value) into v_document
      from jsonb_each(t.document || coalesce(c -> 'patch', '{}')) where value <> 'null';
    if t.is_declared and (c ->> 'op' = 'delete' or v_document <> t.document) then
      return '{"outcome": "declared"}';
    end if;
    v_org := t.org_id;
    v_status := coalesce(c ->> 'status', t.status);
    if (c ->> 'op' = 'delete' or v_status <> 'active' or v_document ->> 'role' <> 'owner')
      and t.kind = 'user' and exists (select from members where id = t.id and role = 'owner')
      and not exists (select from members where org_id = v_org and id <> t.id and role = 'owner') then
      return '{"outcome": "last_owner"}';
    end if;
  end if;
  if c ->> 'kind' = 'team' and c ->> 'op' <> 'delete' then
    -- A team may have a hundred thousand: only those that are added are looked for, by the index.
    v_added := array(
      select jsonb_array_elements_text(v_document -> 'members')
      except select jsonb_array_elements_text(t.document -> 'members'));
    if cardinality(v_added) <> (
      select count(*) from tenants where kind = 'user' and id = any(v_added) and org_id = v_org and status <> 'closed') then
      return '{"outcome": "no_member"}';
    end if;
  end if;
  case c ->> 'op'
    when 'create' then
      insert into tenants (kind, id, org_id, document, is_declared, is_invited)
        values (c ->> 'kind', c ->> 'id', v_org, v_document, false, coalesce((c ->> 'invited')::boolean, false))
        on conflict do nothing returning * into t;
      if not found then
        return '{"outcome": "exists"}';
      end if;
    when 'update' then
      update tenants set document = v_document, status = v_status, revision = nextval('tenant_revisions'),
        changed_at = now() where kind = t.kind and id = t.id returning * into t;
    else
      perform tenant_close(t);
  end case;
  return jsonb_build_object('row', tenant_row(t), 'outcome',
    case c ->> 'op' when 'create' then 'created' when 'update' then 'updated' else 'deleted' end);
end $fn$;

-- Changes in their order, each for itself, with audit records. Items that were refused before have an outcome already.
-- Audit records come last: their lock is one of all writers, and must not be held while rows are waited for.
create or replace function tenants_change(p_changes jsonb, p_actor_type text, p_actor_id text)
returns jsonb language plpgsql as $fn$
declare
  c jsonb;
  answer jsonb;
  answers jsonb[] := '{}';
  at integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('tenants'));
  for c in select * from jsonb_array_elements(p_changes) loop
    answers := answers || case when c ? 'outcome' then c else tenant_change(c) end;
  end loop;
  for c in select * from jsonb_array_elements(p_changes) loop
    at := at + 1;
    answer := answers[at];
    if answer ->> 'outcome' in ('created', 'updated', 'deleted') then
      perform audit_append('tenant.' || (answer ->> 'outcome'), coalesce(c ->> 'org', c ->> 'within'), p_actor_type,
        p_actor_id, jsonb_build_object('kind', c -> 'kind', 'id', c -> 'id', 'revision', answer -> 'row' -> 'revision')
          || case when c ? 'status' then jsonb_build_object('status', c -> 'status') else '{}' end);
    end if;
  end loop;
  return to_jsonb(answers);
end $fn$;

-- Makes changes of tenants under an idempotency key; null where the key came with another payload.
create or replace function tenants_batch(p_key text, p_sha256 bytea, p_changes jsonb, p_actor_type text, p_actor_id text)
returns jsonb language plpgsql as $fn$
declare
  known tenant_batches;
begin
  delete from tenant_batches where at < now() - interval '1 day';
  insert into tenant_batches (key, payload_sha256, reply) values (p_key, p_sha256, '[]') on conflict do nothing;
  if not found then
    select * into known from tenant_batches where key = p_key;
    return case when known.payload_sha256 = p_sha256 then known.reply end;
  end if;
  update tenant_batches set reply = tenants_change(p_changes, p_actor_type, p_actor_id) where key = p_key
    returning * into known;
  return known.reply;
end $fn$;

-- A key that stands in no catalogue; its id, or null where that is taken. The same request again gives the key that it made a new
-- secret: the answer with the first one was lost. Null also where that key was rotated since: its secret is known.
create or replace function app_key_mint(p_id text, p_app_id text, p_org_id text, p_secret bytea, p_scopes text[],
  p_expires_at timestamptz, p_name text, p_limits jsonb, p_request text, p_actor_type text, p_actor_id text)
returns text language plpgsql as $fn$
declare
  k app_keys;
begin
  if p_request is not null then
    perform pg_advisory_xact_lock(hashtext('weir.key-mint'), hashtext(p_org_id || p_request));
    select * into k from app_keys x
      where x.app_id = p_app_id and x.made_request = p_request and x.made_by = p_actor_type || ':' || p_actor_id
        and x.revoked_at is null and x.created_at > now() - interval '1 day'
      for update;
    if found then
      if k.former_sha256 is not null then
        return null;
      end if;
      update app_keys set secret_sha256 = p_secret where id = k.id;
      perform audit_append('key.minted_again', p_org_id, p_actor_type, p_actor_id, jsonb_build_object('key', k.id, 'appId', p_app_id));
      return k.id;
    end if;
  end if;
  insert into app_keys (id, app_id, secret_sha256, scopes, expires_at, name, limits, origin, made_by, made_request)
    values (p_id, p_app_id, p_secret, p_scopes, p_expires_at, p_name, p_limits, 'admin', p_actor_type || ':' || p_actor_id, p_request)
    on conflict do nothing;
  if not found then
    return null;
  end if;
  perform audit_append('key.minted', p_org_id, p_actor_type, p_actor_id,
    jsonb_build_object('key', p_id, 'appId', p_app_id, 'scopes', p_scopes, 'expiresAt', p_expires_at));
  return p_id;
end $fn$;

-- Gives a key another secret; the former one works for its grace. The same request again replaces the new secret only. 'rotated',
-- 'absent', or 'declared' where the catalogue has its secret.
create or replace function app_key_rotate(p_id text, p_org_id text, p_secret bytea, p_grace_s integer, p_request text,
  p_actor_type text, p_actor_id text)
returns table(outcome text, former_until timestamptz) language plpgsql as $fn$
#variable_conflict use_column
declare
  k app_keys;
  owner text;
begin
  select x.* into k from app_keys x where x.id = p_id and x.status <> 'revoked' and (p_org_id is null or exists (
    select from tenants t where t.kind = 'app' and t.id = x.app_id and t.org_id = p_org_id)) for update;
  if not found then
    outcome := 'absent';
    return next;
    return;
  end if;
  if k.origin = 'catalogue' and exists (
    select from catalogue_revisions r, jsonb_array_elements(r.document -> 'keys') d
    where r.revision = (select max(revision) from catalogue_revisions) and d ->> 'id' = p_id and d ? 'secret') then
    outcome := 'declared';
    return next;
    return;
  end if;
  outcome := 'rotated';
  -- Long after the grace, the same id is another request: the present secret must not end without one.
  if p_request is not null and k.rotate_request = p_request and k.former_until > now() - interval '1 day' then
    update app_keys set secret_sha256 = p_secret where id = p_id;
    former_until := k.former_until;
  else
    former_until := now() + make_interval(secs => p_grace_s);
    update app_keys set secret_sha256 = p_secret, former_sha256 = k.secret_sha256, former_until = app_key_rotate.former_until,
      rotate_request = p_request where id = p_id;
  end if;
  select t.org_id into owner from tenants t where t.kind = 'app' and t.id = k.app_id;
  perform audit_append('key.rotated', coalesce(p_org_id, owner), p_actor_type, p_actor_id,
    jsonb_build_object('key', p_id, 'appId', k.app_id, 'formerUntil', former_until));
  return next;
end $fn$;

-- Changes a key that stands in no catalogue: its name, limits, end, and whether it is disabled. Members of p_change that are null are
-- removed. 'changed', 'absent' or 'declared'.
create or replace function app_key_change(p_id text, p_org_id text, p_change jsonb, p_actor_type text, p_actor_id text)
returns text language plpgsql as $fn$
declare
  k app_keys;
  owner text;
begin
  select x.* into k from app_keys x where x.id = p_id and x.status <> 'revoked' and (p_org_id is null or exists (
    select from tenants t where t.kind = 'app' and t.id = x.app_id and t.org_id = p_org_id)) for update;
  if not found then
    return 'absent';
  end if;
  if k.origin = 'catalogue' then
    return 'declared';
  end if;
  update app_keys set
    name = case when p_change ? 'name' then p_change ->> 'name' else k.name end,
    limits = nullif(jsonb_strip_nulls(coalesce(k.limits, '{}') || (p_change - array['name', 'expiresAt', 'disabled'])), '{}'),
    expires_at = case when p_change ? 'expiresAt' then (p_change ->> 'expiresAt')::timestamptz else k.expires_at end,
    status = case when p_change ? 'disabled' then case when (p_change ->> 'disabled')::boolean then 'disabled' else 'active' end
      else k.status end
  where id = p_id;
  select t.org_id into owner from tenants t where t.kind = 'app' and t.id = k.app_id;
  perform audit_append('key.changed', coalesce(p_org_id, owner), p_actor_type, p_actor_id,
    jsonb_build_object('key', p_id, 'appId', k.app_id, 'change', p_change));
  return 'changed';
end $fn$;

-- Notes when keys were last used: {id: instant}. A key that was removed in the meantime is left out.
create or replace function key_uses_note(p_uses jsonb)
returns void language sql as $fn$
  insert into key_uses as k (key_id, used_at)
  select u.key, u.value::timestamptz from jsonb_each_text(p_uses) u
  where exists (select from app_keys a where a.id = u.key) order by u.key
  on conflict (key_id) do update set used_at = greatest(k.used_at, excluded.used_at)
$fn$;

-- Revokes a key. The audit entry of one that an operator revoked names the organisation of its application.
create or replace function app_key_revoke(p_id text, p_org_id text, p_actor_type text, p_actor_id text)
returns boolean language plpgsql as $fn$
declare
  key app_keys;
  owner text;
begin
  select * into key from app_keys k where id = p_id and revoked_at is null and (p_org_id is null or exists (
    select from tenants t where t.kind = 'app' and t.id = k.app_id and t.org_id = p_org_id)) for update;
  if not found then
    return false;
  end if;
  select t.org_id into owner from tenants t where t.kind = 'app' and t.id = key.app_id;
  perform audit_append('key.revoked', coalesce(p_org_id, owner), p_actor_type, p_actor_id,
    jsonb_build_object('key', p_id, 'appId', key.app_id));
  update app_keys set status = 'revoked', revoked_at = now() where id = p_id;
  return true;
end $fn$;

-- What the person answers to an organisation's invitation; false where there is none. Declining closes the row. The audit
-- record comes last, as in tenants_change.
create or replace function invitation_answer(p_email text, p_org_id text, p_accept boolean, p_user_id text)
returns boolean language plpgsql as $fn$
declare
  t tenants;
begin
  perform pg_advisory_xact_lock(hashtext('tenants'));
  select x.* into t from tenants x join invitations i on i.id = x.id
    where x.kind = 'user' and i.email = p_email and i.org_id = p_org_id;
  if not found then
    return false;
  end if;
  if p_accept then
    update tenants set is_invited = false, revision = nextval('tenant_revisions'), changed_at = now()
      where kind = 'user' and id = t.id;
  else
    perform tenant_close(t);
  end if;
  perform audit_append(case when p_accept then 'invitation.accepted' else 'invitation.declined' end, p_org_id, 'user',
    p_user_id, jsonb_build_object('member', t.id));
  return true;
end $fn$;

-- Logging in accepts the only invitation of a person who belongs to no organisation. Of several none is chosen for them. Who is
-- disabled somewhere belongs there.
create or replace function invitation_accept_only(p_email text, p_user_id text)
returns boolean language plpgsql as $fn$
declare
  v_org text;
begin
  select min(org_id) into v_org from invitations where email = p_email having count(*) = 1;
  if v_org is null or exists (
    select from tenants where kind = 'user' and label = p_email and status <> 'closed' and not is_invited) then
    return false;
  end if;
  return invitation_answer(p_email, v_org, true, p_user_id);
end $fn$;
