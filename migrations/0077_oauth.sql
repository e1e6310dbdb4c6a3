-- Old nodes: may run; they take no tokens of clients.
-- Clients that people connect in a browser, by OAuth. Functions: client_decide, code_redeem, client_refresh,
-- access_token_end, member_credentials_end, retain_accounts.

-- A connection of a client is a token of its person: kind 'oauth'. Its secrets are rows of client_secrets.
alter table access_tokens drop constraint access_tokens_kind_check;
alter table access_tokens add constraint access_tokens_kind_check check (kind in ('pat', 'device', 'oauth'));
alter table access_tokens add column client_id text;
-- The server of tools to which the connection is limited; null for all.
alter table access_tokens add column tool_server text;

-- Clients that registered themselves (RFC 7591).
create table oauth_clients (
  id text collate "C" primary key,
  -- Null for a public client.
  secret_sha256 bytea check (length(secret_sha256) = 32),
  auth_method text not null check (auth_method in ('none', 'client_secret_basic', 'client_secret_post')),
  name text not null,
  redirect_uris text[] not null,
  made_at timestamptz not null default now(),
  -- The last time that a person approved it, or that its tokens were refreshed.
  used_at timestamptz
);
create index oauth_clients_by_time on oauth_clients (coalesce(used_at, made_at));

-- Requests for authorization: first they wait for a person, then their code waits for its client.
create table oauth_requests (
  id text collate "C" primary key,
  client_id text not null,
  client_name text not null,
  redirect_uri text not null,
  state text,
  challenge text not null,
  tool_server text,
  expires_at timestamptz not null,
  code_sha256 bytea unique check (length(code_sha256) = 32),
  user_id text,
  org_id text,
  -- The connection that its code gave.
  token_id text
);
create index oauth_requests_by_time on oauth_requests (expires_at);

-- Clients that a person has approved for an organisation.
create table oauth_consents (
  user_id text not null references users (id) on delete cascade,
  org_id text not null,
  client_id text not null,
  given_at timestamptz not null default now(),
  primary key (user_id, org_id, client_id)
);

create table client_secrets (
  secret_sha256 bytea primary key check (length(secret_sha256) = 32),
  token_id text not null references access_tokens (id) on delete cascade,
  kind text not null check (kind in ('access', 'refresh')),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index client_secrets_by_token on client_secrets (token_id);
create index client_secrets_by_time on client_secrets (expires_at);

-- A login at an identity provider that goes on with a client's request.
alter table sso_flows add column oauth_request text;
alter table sso_links add column oauth_request text;
