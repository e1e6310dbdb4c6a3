-- Old nodes: may run.
-- Batches: many requests of one client that are answered within a day. Their money is an allotment of their own, in the account
-- batch:ID. Functions: node_account, batch_begin, batch_chunks_take, batch_chunks_renew, batch_chunk_done, batch_chunk_back,
-- batch_result, batches_finish, batch_end, batch_return, batch_counts, batch_cancel, batch_erase, retain_batches, ledger_allot, ledger_move, ledger_settle,
-- ledger_close_holds, ledger_reap, ledger_audit.
create table batches (
  org_id text not null,
  id text collate "C" not null,
  -- Its owner; an absent part is empty.
  app_id text not null,
  person_id text not null,
  end_user_id text not null,
  key_id text not null,
  -- The request id of the client that made it, if it named one: made again, it is the same batch.
  request_id text,
  -- The API in which its client asked.
  api text not null,
  state text not null check (state in ('failed', 'in_progress', 'finalizing', 'completed', 'expired', 'cancelled')),
  -- The number of its requests, and of those that have an answer, by its kind.
  lines integer not null,
  succeeded integer not null default 0,
  errored integer not null default 0,
  cancelled integer not null default 0,
  expired integer not null default 0,
  currency text not null,
  -- The amount that was held at the beginning.
  held numeric not null,
  -- What its requests have cost, once it has ended.
  cost numeric not null default 0,
  -- The day (UTC+8) to whose tokens its calls are counted, and the budgets that cover them: their counters and units.
  day text not null,
  budgets jsonb not null,
  tags jsonb,
  created_at timestamptz not null default now(),
  ends_at timestamptz not null,
  cancelled_at timestamptz,
  finalizing_at timestamptz,
  ended_at timestamptz,
  erase_at timestamptz not null,
  -- When a part of it was last taken, and the time before which none is.
  taken_at timestamptz not null default now(),
  wake_at timestamptz not null default now(),
  -- The node that writes its results.
  lease_node text,
  lease_until timestamptz,
  -- What its client said of it, and what came of it: sealed.
  facts bytea not null,
  outcome bytea,
  primary key (org_id, id)
);
create index batches_by_owner on batches (org_id, app_id, person_id, end_user_id, id);
create index batches_by_time on batches (org_id, created_at, id);
create unique index batches_by_request on batches (org_id, key_id, request_id) where request_id is not null;
create index batches_open on batches (id) where ended_at is null;
create index batches_to_take on batches (taken_at) where state = 'in_progress';
create index batches_to_finish on batches (lease_until) where state = 'finalizing';
create index batches_to_erase on batches (erase_at) where ended_at is not null;

-- Parts of a batch, each taken by one node at a time: where its requests begin in the file, and how many bytes they have. A part
-- whose requests all have an answer has no row any more.
create table batch_chunks (
  org_id text not null,
  batch_id text collate "C" not null,
  chunk integer not null,
  first_line integer not null,
  lines integer not null,
  place bigint not null,
  bytes integer not null,
  -- How often a vendor failed for one of its requests.
  failures integer not null default 0,
  lease_node text,
  lease_until timestamptz,
  primary key (org_id, batch_id, chunk)
);
create index batch_chunks_leased on batch_chunks (lease_node) where lease_node is not null;

-- Answers to requests of open batches, sealed.
create table batch_results (
  org_id text not null,
  batch_id text collate "C" not null,
  line integer not null,
  state text not null check (state in ('succeeded', 'errored')),
  at timestamptz not null default clock_timestamp(),
  content bytea not null,
  primary key (org_id, batch_id, line)
);
create index batch_results_by_time on batch_results (org_id, batch_id, at, line);

-- The batch of a call.
alter table usage_records add column batch_id text;

-- Where the books are spread already, these are placed as the other tables of the books are.
do $spread$ begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    if exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) then
      perform create_distributed_table('batches', 'org_id', colocate_with => 'counters');
      perform create_distributed_table('batch_chunks', 'org_id', colocate_with => 'counters');
      perform create_distributed_table('batch_results', 'org_id', colocate_with => 'counters');
    end if;
  end if;
end $spread$;
