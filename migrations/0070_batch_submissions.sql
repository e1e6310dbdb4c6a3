-- Old nodes: may run.
-- Batches that run at their vendors' own APIs of batches. Functions: batch_begin, batches_finish, batch_end, batch_cancel,
-- batch_submissions_take, batch_submissions_renew, batch_submission_sends, batch_submission_goes_on, batch_submission_done.
create table batch_submissions (
  org_id text not null,
  batch_id text collate "C" not null,
  submission integer not null,
  first_line integer not null,
  lines integer not null,
  -- Where its requests are in the file of the batch, and their bytes there.
  place bigint not null,
  bytes bigint not null,
  -- Its target: the vendor, the model there, the key of the target, and whether the organisation brings the credential.
  vendor text not null,
  target_model text not null,
  target text not null,
  is_own boolean not null,
  -- What its lines share at the vendor.
  line_group text not null,
  -- sending: the vendor may have made a batch of it.
  state text not null default 'waiting' check (state in ('waiting', 'sending', 'running')),
  vendor_batch text,
  input_file text,
  -- The number of lines that were sent, and when.
  sent_lines integer not null default 0,
  sent_at timestamptz,
  -- When its vendor was asked to cancel it.
  cancelled_at timestamptz,
  next_at timestamptz not null default now(),
  -- How often it was looked at, and how often its results were read, in its state.
  polls integer not null default 0,
  reads integer not null default 0,
  lease_node text,
  lease_until timestamptz,
  primary key (org_id, batch_id, submission)
);
create index batch_submissions_due on batch_submissions (next_at);
create index batch_submissions_leased on batch_submissions (lease_node) where lease_node is not null;

-- Where the books are spread already, this is placed as the other tables of the books are.
do $spread$ begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    if exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) then
      perform create_distributed_table('batch_submissions', 'org_id', colocate_with => 'counters');
    end if;
  end if;
end $spread$;
