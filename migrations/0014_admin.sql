-- What operators do to keys and people. A key that they revoked stays revoked, whatever a catalogue says of it.
alter table app_keys add column revoked_at timestamptz;

-- A key that stands in no catalogue; false where the id is taken.
create function app_key_mint(
  p_id text, p_app_id text, p_org_id text, p_secret bytea, p_scopes text[], p_expires_at timestamptz
) returns boolean language plpgsql as $$
begin
  insert into app_keys (id, app_id, secret_sha256, scopes, expires_at, origin)
    values (p_id, p_app_id, p_secret, p_scopes, p_expires_at, 'admin') on conflict do nothing;
  if not found then
    return false;
  end if;
  perform audit_append('key.minted', p_org_id, 'service', 'admin',
    jsonb_build_object('key', p_id, 'appId', p_app_id, 'scopes', p_scopes, 'expiresAt', p_expires_at));
  return true;
end $$;

-- False where there is no such key, or it was revoked before.
create function app_key_revoke(p_id text) returns boolean language plpgsql as $$
declare
  key app_keys;
begin
  select * into key from app_keys where id = p_id and revoked_at is null for update;
  if not found then
    return false;
  end if;
  perform audit_append('key.revoked', null, 'service', 'admin', jsonb_build_object('key', p_id, 'appId', key.app_id));
  update app_keys set status = 'revoked', revoked_at = now() where id = p_id;
  return true;
end $$;

-- Lets a person in again, or out: what a person who is disabled holds stops working, and its logins are over for good.
create function user_set_status(p_id text, p_status text) returns setof users language plpgsql as $$
begin
  perform from users where id = p_id and status <> p_status for update;
  if found then
    perform audit_append(case p_status when 'disabled' then 'user.disabled' else 'user.enabled' end,
      null, 'service', 'admin', jsonb_build_object('user', p_id));
    update users set status = p_status where id = p_id;
    update logins set ended_at = now() where user_id = p_id and ended_at is null and p_status = 'disabled';
  end if;
  return query select * from users where id = p_id;
end $$;
