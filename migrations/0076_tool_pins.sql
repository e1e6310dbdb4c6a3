-- Old nodes: may run; they have no tools.
-- The definitions of tools as they were first seen, or agreed to by an operator, and later ones that wait for agreement.
create table tool_pins (
  server text collate "C" not null,
  -- The server's own name.
  tool text collate "C" not null,
  -- SHA-256 of the definition.
  hash bytea not null,
  -- JSON, as text: a definition may have characters that jsonb refuses.
  definition text not null,
  seen_at timestamptz not null default now(),
  changed_hash bytea,
  changed_definition text,
  changed_at timestamptz,
  primary key (server, tool)
);
