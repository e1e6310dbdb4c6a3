-- Parts of the books that the coordinator has: each shard has its own instead.

-- The name of rows that belong to a whole shard and to no organisation.
create or replace function books_key()
returns text language sql immutable as $fn$ select '' $fn$;

-- A table of the books by its name; in a shard, the part of it that is there.
create or replace function book_table(p_name text)
returns regclass language sql stable as $fn$ select to_regclass(p_name) $fn$;

-- A place that no record has reached; those that are written later have higher ones, and were written after `since`.
create or replace function books_now()
returns table(place bigint, since timestamptz) language plpgsql as $fn$
begin
  since := clock_timestamp();
  place := next_transfer_id();
  return next;
end $fn$;

-- The size of the books on the disk.
create or replace function books_bytes()
returns bigint language sql stable as $fn$
  select sum(pg_total_relation_size(i.relid))::bigint
  from unnest(array['counters', 'allotments', 'transfers', 'usage_records', 'usage_late', 'usage_corrections', 'spent_requests',
    'spent_days', 'holds', 'replies', 'responses', 'response_items', 'response_events', 'conversations',
    'conversation_items', 'content_objects', 'jobs', 'job_attempts', 'exchange_reports', 'failure_counts', 'usage_rollups',
    'first_frame_rollups', 'unit_rollups', 'events', 'books_months', 'books_openings']) t(name)
  cross join lateral (
    select t.name::regclass as relid union select p.relid from pg_partition_tree(t.name::regclass) p) i
$fn$;
