-- Old nodes: may run; they note no keys.
-- The master keys with which content was sealed: a node that lacks one says so.
create table master_keys (
  -- The beginning of a hash of the key, as sealed content has it.
  id text primary key,
  first_used_at timestamptz not null default now(),
  last_used_at timestamptz not null default now()
);
