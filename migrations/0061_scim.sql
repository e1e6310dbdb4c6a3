-- Old nodes: may run.
-- People from an organisation's directory, by SCIM. Functions: scim_token_set, scim_token_end, member_readdress,
-- member_credentials_end, tenant_change.
create table scim_tokens (
  org_id text primary key,
  secret_sha256 bytea not null unique check (length(secret_sha256) = 32),
  -- Whether its directory may make, change and remove owners: an owner or operator made it.
  may_own boolean not null,
  made_at timestamptz not null default now(),
  last_used_at timestamptz
);

-- What directories sent of people and groups. People and teams are rows of `tenants`; groups that give a role only stand here.
create table scim_resources (
  kind text not null check (kind in ('user', 'group')),
  id text collate "C" not null,
  org_id text not null,
  attributes jsonb not null,
  external_id text generated always as (attributes ->> 'externalId') stored,
  -- Of a group that gives a role, and of no team.
  role text check (role in ('owner', 'admin', 'member')),
  members jsonb not null default '[]',
  -- A team that the organisation's provider names, which the directory does not rename or remove.
  is_mapped boolean not null default false,
  revision bigint not null default 1,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  primary key (kind, id)
);
create index scim_resources_by_org on scim_resources (org_id, kind, id);
create index scim_resources_by_external_id on scim_resources (org_id, kind, external_id);
