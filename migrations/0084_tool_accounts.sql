-- Old nodes: may run; they have no accounts at servers of tools.
-- Functions: retain_accounts.
-- Accounts at servers of tools: of the platform (owner is empty), or of a person.
create table tool_accounts (
  server text collate "C" not null,
  owner text collate "C" not null,
  -- The server's address: its tokens are sent to no other.
  url text not null,
  issuer text not null,
  -- Names the consent: the account after another consent is another one.
  consent uuid not null default gen_random_uuid(),
  -- Counts the changes of its tokens.
  revision bigint not null default 1,
  -- Tokens and the client that has them, sealed.
  sealed text not null,
  -- The scopes that it was asked for, and those that a new consent must have, if it needs one.
  scopes text[] not null,
  wanted_scopes text[],
  connected_at timestamptz not null default now(),
  renewed_at timestamptz,
  -- When its token is renewed, and when it ends; null if the server does not say.
  renew_at timestamptz,
  expires_at timestamptz,
  -- The one who renews it.
  lease uuid,
  lease_until timestamptz,
  primary key (server, owner)
);
create index tool_accounts_by_owner on tool_accounts (owner);

-- Consents that were begun.
create table tool_flows (
  state_sha256 bytea primary key,
  server text collate "C" not null,
  owner text collate "C" not null,
  sealed text not null,
  expires_at timestamptz not null
);

-- Clients that authorisation servers have registered, by their issuer.
create table tool_clients (
  issuer text collate "C" not null,
  redirect_uri text collate "C" not null,
  sealed text not null,
  registered_at timestamptz not null default now(),
  expires_at timestamptz,
  primary key (issuer, redirect_uri)
);
