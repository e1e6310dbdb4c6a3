-- Old nodes: may run.
-- The audit entry of a key that an operator revoked names the organisation of its application, so that its owners see it.
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
