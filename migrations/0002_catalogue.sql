-- The catalogue as applied: one row a revision, the highest is in force on every node.
create table catalogue_revisions (
  revision bigint generated always as identity primary key,
  fingerprint text not null,
  document jsonb not null,
  applied_at timestamptz not null default now()
);

-- App keys. secret_sha256 is the raw SHA-256 digest of the secret: the hash at rest, and the key of request signatures.
create table app_keys (
  id text primary key,
  app_id text not null,
  secret_sha256 bytea not null check (length(secret_sha256) = 32),
  scopes text[] not null,
  status text not null default 'active' check (status in ('active', 'disabled', 'revoked')),
  expires_at timestamptz,
  origin text not null check (origin in ('catalogue', 'admin')),
  created_at timestamptz not null default now()
);
create index app_keys_by_app on app_keys (app_id);
