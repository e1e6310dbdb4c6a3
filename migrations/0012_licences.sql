-- Licences: issued with a code, activated once by a member, ended by suspension or revocation. The epoch tells caches.
create table licences (
  id text primary key,
  org_id text not null,
  app_id text not null,
  status text not null default 'issued' check (status in ('issued', 'active', 'suspended', 'revoked')),
  epoch integer not null default 0,
  code_sha256 bytea not null unique check (length(code_sha256) = 32),
  code_expires_at timestamptz not null,
  -- The member who has activated it.
  user_id text references users (id),
  created_at timestamptz not null default now()
);
create index licences_by_org on licences (org_id, created_at desc);
create index licences_by_app on licences (app_id) where status = 'active';

create function licence_issue(p_id text, p_org_id text, p_app_id text, p_code bytea, p_expires_at timestamptz,
  p_actor_type text, p_actor_id text) returns setof licences language plpgsql as $$
begin
  perform audit_append('license.issued', p_org_id, p_actor_type, p_actor_id,
    jsonb_build_object('licence', p_id, 'appId', p_app_id));
  return query insert into licences (id, org_id, app_id, code_sha256, code_expires_at)
    values (p_id, p_org_id, p_app_id, p_code, p_expires_at) returning *;
end $$;

-- Checks the code, redeems it, binds the member and audits, all or nothing. No row: the code is not good.
create function licence_activate(p_code bytea, p_org_ids text[], p_user_id text) returns setof licences language plpgsql as $$
declare
  found_row licences;
begin
  select * into found_row from licences l where l.code_sha256 = p_code and l.status = 'issued'
    and l.code_expires_at > now() and l.org_id = any (p_org_ids) for update;
  if not found then
    return;
  end if;
  perform audit_append('license.activated', found_row.org_id, 'user', p_user_id,
    jsonb_build_object('licence', found_row.id, 'appId', found_row.app_id));
  return query update licences l set status = 'active', user_id = p_user_id where l.id = found_row.id returning *;
end $$;

-- Ends a licence, or holds it up. No row: there is no such licence here, or it is not in a state for it.
create function licence_end(p_id text, p_org_id text, p_status text, p_actor_type text, p_actor_id text)
returns setof licences language plpgsql as $$
begin
  perform from licences l where l.id = p_id and l.org_id = p_org_id
    and (l.status = 'active' or (p_status = 'revoked' and l.status <> 'revoked')) for update;
  if not found then
    return;
  end if;
  perform audit_append('license.' || p_status, p_org_id, p_actor_type, p_actor_id, jsonb_build_object('licence', p_id));
  return query update licences l set status = p_status, epoch = epoch + 1 where l.id = p_id returning *;
end $$;
