-- Clients that people connect in a browser.

-- A person decides about a client: audited, and remembered if approved. False if there is nothing to decide.
create or replace function client_decide(p_id text, p_user_id text, p_org_id text, p_code bytea, p_expires_at timestamptz)
returns boolean language plpgsql as $fn$
declare
  asked oauth_requests;
begin
  select * into asked from oauth_requests r
    where r.id = p_id and r.user_id is null and r.expires_at > now() for update;
  if not found then
    return false;
  end if;
  perform audit_append(case when p_code is null then 'auth.client_denied' else 'auth.client_approved' end,
    p_org_id, 'user', p_user_id,
    jsonb_build_object('clientId', asked.client_id, 'clientName', asked.client_name, 'server', asked.tool_server));
  if p_code is null then
    delete from oauth_requests r where r.id = p_id;
    return true;
  end if;
  insert into oauth_consents (user_id, org_id, client_id) values (p_user_id, p_org_id, asked.client_id)
    on conflict do nothing;
  update oauth_clients set used_at = now() where id = asked.client_id;
  update oauth_requests r set user_id = p_user_id, org_id = p_org_id, code_sha256 = p_code, expires_at = p_expires_at
    where r.id = p_id;
  return true;
end $fn$;

-- Gives a connection for a code, once. A code that comes again was stolen, or its first use was: its connection ends.
create or replace function code_redeem(p_code bytea, p_client_id text, p_redirect_uri text, p_challenge text, p_token_id text,
  p_unused bytea, p_access bytea, p_access_expires_at timestamptz, p_refresh bytea, p_refresh_expires_at timestamptz)
returns table(verdict text, user_id text, org_id text, server text) language plpgsql as $fn$
declare
  asked oauth_requests;
begin
  select * into asked from oauth_requests r where r.code_sha256 = p_code and r.client_id = p_client_id for update;
  if not found then
    return query select 'unknown', null::text, null::text, null::text;
  elsif asked.token_id is not null then
    perform access_token_end(asked.token_id, 'code reused');
    return query select 'reused', asked.user_id, asked.org_id, null::text;
  elsif asked.expires_at <= now() or asked.redirect_uri <> coalesce(p_redirect_uri, asked.redirect_uri) or asked.challenge <> p_challenge then
    -- A code is tried once.
    update oauth_requests r set expires_at = least(r.expires_at, now()) where r.id = asked.id;
    return query select 'unlike', null::text, null::text, null::text;
  else
    insert into access_tokens (id, kind, secret_sha256, org_id, user_id, name, scopes, expires_at, client_id, tool_server)
      values (p_token_id, 'oauth', p_unused, asked.org_id, asked.user_id, asked.client_name, '{tools}',
        p_refresh_expires_at, asked.client_id, asked.tool_server);
    insert into client_secrets (secret_sha256, token_id, kind, expires_at) values
      (p_access, p_token_id, 'access', p_access_expires_at), (p_refresh, p_token_id, 'refresh', p_refresh_expires_at);
    update oauth_requests r set token_id = p_token_id where r.id = asked.id;
    return query select 'given', asked.user_id, asked.org_id, asked.tool_server;
  end if;
end $fn$;

-- Exchanges a refresh token for the next one. One that comes again was stolen, or its successor was: the connection ends.
create or replace function client_refresh(p_secret bytea, p_client_id text, p_access bytea, p_access_expires_at timestamptz,
  p_refresh bytea, p_refresh_expires_at timestamptz)
returns table(verdict text, token_id text, server text) language plpgsql as $fn$
declare
  connection access_tokens;
  secret client_secrets;
begin
  select t.* into connection from access_tokens t join client_secrets s on s.token_id = t.id
    where s.secret_sha256 = p_secret and s.kind = 'refresh' and t.client_id = p_client_id for update of t;
  if not found or connection.status <> 'active'
    or exists (select from users u where u.id = connection.user_id and u.status <> 'active') then
    return query select 'unknown', null::text, null::text;
    return;
  end if;
  -- Read only after the connection is locked: a token that another call has just used is seen as used.
  select * into secret from client_secrets s where s.secret_sha256 = p_secret;
  if secret.used_at is not null then
    perform access_token_end(connection.id, 'refresh token reused');
    return query select 'reused', connection.id, null::text;
  elsif secret.expires_at <= now() then
    return query select 'unknown', null::text, null::text;
  else
    update client_secrets s set used_at = now() where s.secret_sha256 = p_secret;
    delete from client_secrets s where s.token_id = connection.id and s.kind = 'access' and s.expires_at <= now();
    insert into client_secrets (secret_sha256, token_id, kind, expires_at) values
      (p_access, connection.id, 'access', p_access_expires_at), (p_refresh, connection.id, 'refresh', p_refresh_expires_at);
    update access_tokens t set expires_at = p_refresh_expires_at where t.id = connection.id;
    update oauth_clients c set used_at = now() where c.id = p_client_id;
    return query select 'rotated', connection.id, connection.tool_server;
  end if;
end $fn$;

-- Ends a token. The end of a client's connection is audited, and its consent is forgotten.
create or replace function access_token_end(p_id text, p_reason text)
returns void language plpgsql as $fn$
declare
  ended access_tokens;
begin
  update access_tokens set status = 'revoked' where id = p_id and status = 'active' returning * into ended;
  if found and ended.kind = 'oauth' then
    perform audit_append('auth.client_disconnected', ended.org_id, 'user', ended.user_id,
      jsonb_build_object('token', p_id, 'clientId', ended.client_id, 'clientName', ended.name, 'reason', p_reason));
    delete from client_secrets where token_id = p_id and kind = 'access';
    delete from oauth_consents c
      where c.user_id = ended.user_id and c.org_id = ended.org_id and c.client_id = ended.client_id;
  end if;
end $fn$;
