-- Upstream keys that organisations bring: the key is sealed under the server's master key, bound to its row. A change
-- moves the sum of revisions, which is how nodes notice it.
create sequence org_upstream_key_revisions;

create table org_upstream_keys (
  org_id text not null,
  vendor_id text not null,
  -- Null where the vendor's own address of the catalogue holds.
  base_url text,
  sealed_key text not null,
  -- The last characters of the key, so that people can tell keys apart.
  hint text not null,
  revision bigint not null default nextval('org_upstream_key_revisions'),
  updated_at timestamptz not null default now(),
  primary key (org_id, vendor_id)
);
