-- Old nodes: may run.
-- Responses that clients may continue, read and erase, and the items that they may reference. Functions: ledger_settle,
-- responses_remove, response_request, retain_responses, retain_response_days, response_thread, response_begin, response_end,
-- responses_renew, conversations_remove, conversation_append, conversations_append, conversation_cut, books_bytes.
create table responses (
  org_id text not null,
  -- The day (UTC) in its id.
  day date not null,
  id text collate "C" not null,
  -- The response that it continues.
  previous_id text collate "C",
  -- Its owner; an absent part is empty.
  app_id text not null,
  person_id text not null,
  end_user_id text not null,
  model text not null,
  -- Whether it runs without its client.
  is_background boolean not null default false,
  -- The caller's key and request id of a response in the background, and the sealed hash of its request.
  key_id text,
  request_id text,
  request_hash bytea,
  -- Until when the node that runs it has it.
  lease_until timestamptz,
  state text not null check (state in ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
  created_at timestamptz not null default now(),
  erase_at timestamptz not null,
  -- The time in the reply that answers its request id again, if there is one.
  replied_at timestamptz,
  -- The request's own items and the reply, sealed.
  content bytea not null,
  primary key (org_id, day, id)
) partition by range (day);
alter table responses alter column content set storage external;
create index responses_by_erasure on responses (erase_at);
create index responses_by_request on responses (org_id, key_id, request_id) where request_id is not null;
create index responses_running on responses (lease_until) where state = 'in_progress';
create table responses_default partition of responses default;

create table response_items (
  org_id text not null,
  id text collate "C" not null,
  response_id text collate "C" not null,
  erase_at timestamptz not null,
  primary key (org_id, id, response_id)
);
create index response_items_by_response on response_items (org_id, response_id);
create index response_items_by_erasure on response_items (erase_at);

-- The events of responses that run without their client, in parts.
create table response_events (
  org_id text not null,
  response_id text collate "C" not null,
  part integer not null,
  erase_at timestamptz not null,
  content bytea not null,
  primary key (org_id, response_id, part)
);
create index response_events_by_erasure on response_events (erase_at);

-- Conversations: lists of items that responses continue.
create table conversations (
  org_id text not null,
  id text collate "C" not null,
  -- Its owner; an absent part is empty.
  app_id text not null,
  person_id text not null,
  end_user_id text not null,
  created_at timestamptz not null default now(),
  -- The last time when it was changed: it is kept for as long as its newest part.
  changed_at timestamptz not null default now(),
  erase_at timestamptz not null,
  -- The place of the next item.
  next_place bigint not null default 0,
  -- Sealed.
  metadata bytea not null,
  primary key (org_id, id)
);
create index conversations_by_erasure on conversations (erase_at);

create table conversation_items (
  org_id text not null,
  conversation_id text collate "C" not null,
  place bigint not null,
  -- Not unique: a client may send an item again.
  id text collate "C" not null,
  created_at timestamptz not null default now(),
  erase_at timestamptz not null,
  -- Sealed.
  content bytea not null,
  primary key (org_id, conversation_id, place)
);
alter table conversation_items alter column content set storage external;
create index conversation_items_by_id on conversation_items (org_id, id);
create index conversation_items_by_erasure on conversation_items (erase_at);

-- Where the books are spread already, these are placed as the other tables of the books are.
do $spread$ begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    if exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) then
      perform create_distributed_table('responses', 'org_id', colocate_with => 'counters');
      perform create_distributed_table('response_items', 'org_id', colocate_with => 'counters');
      perform create_distributed_table('response_events', 'org_id', colocate_with => 'counters');
      perform create_distributed_table('conversations', 'org_id', colocate_with => 'counters');
      perform create_distributed_table('conversation_items', 'org_id', colocate_with => 'counters');
    end if;
  end if;
end $spread$;
