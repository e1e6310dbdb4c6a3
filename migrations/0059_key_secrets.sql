-- Old nodes: may run.
-- A key may have two secrets: the former one works until its grace has ended. It has a maker, and the request that made or rotated it,
-- so that a request whose answer was lost can be sent again. The time of its last use is apart: nodes write it often, and nobody is
-- notified. Functions: app_key_mint, app_key_rotate, app_key_change.
alter table app_keys
  add column former_sha256 bytea check (length(former_sha256) = 32),
  add column former_until timestamptz,
  add column made_by text,
  add column made_request text,
  add column rotate_request text;
create table key_uses (
  key_id text primary key,
  used_at timestamptz not null
);
