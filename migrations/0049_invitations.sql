-- Old nodes: may run, but take people whose invitation is open for members, and invite without asking for consent.
-- A member whom an organisation invited counts from the moment that the person accepts. Those of before have accepted, and so
-- have those whom the operator adds or the catalogue declares.
alter table tenants add column is_invited boolean not null default false;

-- Who is a member: all that gives or lists rights reads this.
create view members as
  select id, org_id, label as email, document ->> 'role' as role from tenants
  where kind = 'user' and status = 'active' and not is_invited;

-- Invitations that wait for an answer.
create view invitations as
  select id, org_id, label as email, document ->> 'role' as role, revision from tenants
  where kind = 'user' and status = 'active' and is_invited;

create or replace function tenant_row(t tenants) returns jsonb language sql immutable as $$
  select jsonb_build_object('kind', t.kind, 'id', t.id, 'document', t.document, 'declared', t.is_declared,
    'status', t.status, 'revision', t.revision::text, 'createdAt', to_json(t.created_at) #>> '{}',
    'changedAt', to_json(t.changed_at) #>> '{}') ||
    case when t.is_invited and t.status <> 'closed' then '{"invited": true}'::jsonb else '{}' end
$$;

-- As before, with invitations: a change that creates has `invited`; the last owner is the last who has accepted.
create or replace function tenant_change(c jsonb) returns jsonb language plpgsql as $fn$
declare
  t tenants;
  v_org text := c ->> 'org';
  v_document jsonb := c -> 'document';
  v_status text;
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
  if exists (
    select from jsonb_array_elements_text(v_document -> 'members') m
    where c ->> 'kind' = 'team' and c ->> 'op' <> 'delete' and not exists (
      select from tenants where kind = 'user' and id = m and org_id = v_org and status <> 'closed')) then
    return '{"outcome": "no_member"}';
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

-- What the person answers to an organisation's invitation; false where there is none. Declining closes the row. The audit
-- record comes last, as in tenants_change.
create function invitation_answer(p_email text, p_org_id text, p_accept boolean, p_user_id text) returns boolean
language plpgsql as $fn$
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
create function invitation_accept_only(p_email text, p_user_id text) returns boolean language plpgsql as $fn$
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
