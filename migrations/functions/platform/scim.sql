-- People from directories.

-- Gives an organisation a token for its directory; the former one ends.
create or replace function scim_token_set(p_org_id text, p_secret bytea, p_may_own boolean, p_actor_type text, p_actor_id text)
returns timestamptz language plpgsql as $fn$
declare
  v_made_at timestamptz;
begin
  insert into scim_tokens as t (org_id, secret_sha256, may_own) values (p_org_id, p_secret, p_may_own)
  on conflict (org_id) do update set secret_sha256 = excluded.secret_sha256, may_own = excluded.may_own, made_at = now(),
    last_used_at = null
  returning made_at into v_made_at;
  perform audit_append('scim.enabled', p_org_id, p_actor_type, p_actor_id, jsonb_build_object('mayOwn', p_may_own));
  return v_made_at;
end $fn$;

-- Ends the token of an organisation's directory; false where there is none.
create or replace function scim_token_end(p_org_id text, p_actor_type text, p_actor_id text)
returns boolean language plpgsql as $fn$
begin
  delete from scim_tokens where org_id = p_org_id;
  if not found then
    return false;
  end if;
  perform audit_append('scim.disabled', p_org_id, p_actor_type, p_actor_id, '{}');
  return true;
end $fn$;

-- Gives a member another address: 'updated', 'absent', 'stale', 'declared' or 'exists'. The audit record comes last, as in
-- tenants_change.
create or replace function member_readdress(p_org_id text, p_id text, p_revision bigint, p_email text, p_invited boolean,
  p_actor_type text, p_actor_id text)
returns text language plpgsql as $fn$
declare
  t tenants;
begin
  perform pg_advisory_xact_lock(hashtext('tenants'));
  select * into t from tenants
    where kind = 'user' and id = p_id and org_id = p_org_id and status <> 'closed' for update;
  if not found then
    return 'absent';
  elsif t.revision <> p_revision then
    return 'stale';
  elsif t.is_declared then
    return 'declared';
  elsif exists (
    select from tenants where kind = 'user' and org_id = p_org_id and id <> p_id and label = lower(p_email)) then
    return 'exists';
  end if;
  update tenants set document = jsonb_set(document, '{email}', to_jsonb(p_email)), is_invited = p_invited,
    revision = nextval('tenant_revisions'), changed_at = now() where kind = 'user' and id = p_id;
  perform audit_append('member.readdressed', p_org_id, p_actor_type, p_actor_id, jsonb_build_object('member', p_id));
  return 'updated';
end $fn$;

-- Ends what a person logged in with who has left an organisation or is disabled there: tokens of the organisation, logins at its
-- provider, and all logins if they are a member of no other.
create or replace function member_credentials_end(p_org_id text, p_id text, p_email text)
returns void language plpgsql as $fn$
declare
  v_users text[] := array(select id from users where email = lower(p_email));
begin
  update access_tokens set status = 'revoked'
    where org_id = p_org_id and status = 'active' and (user_id = any(v_users) or user_id = p_id);
  delete from oauth_consents where org_id = p_org_id and user_id = any(v_users);
  delete from oauth_requests where org_id = p_org_id and user_id = any(v_users);
  delete from login_codes where org_id = p_org_id and user_id = any(v_users);
  update logins set ended_at = now() where user_id = any(v_users) and ended_at is null
    and (org_id = p_org_id or not exists (select from members where email = lower(p_email)));
end $fn$;
