-- Parts of batches that run at their vendors' own APIs of batches.

-- Parts that are to be looked at now, leased to a node.
create or replace function batch_submissions_take(p_node text, p_most integer, p_lease_ms double precision)
returns setof batch_submissions language sql as $fn$
  select books_moved();
  update batch_submissions s set lease_node = p_node, lease_until = now() + p_lease_ms * interval '1 millisecond'
  from (
    select q.org_id, q.batch_id, q.submission from batch_submissions q
    where q.next_at <= now() and (q.lease_until is null or q.lease_until < now())
    order by q.next_at limit p_most for update skip locked
  ) due
  where s.org_id = due.org_id and s.batch_id = due.batch_id and s.submission = due.submission
  returning s.*
$fn$;

-- Prolongs the leases of a node.
create or replace function batch_submissions_renew(p_node text, p_lease_ms double precision)
returns void language sql as $fn$
  select books_moved();
  update batch_submissions set lease_until = now() + p_lease_ms * interval '1 millisecond' where lease_node = p_node
$fn$;

-- Notes that the vendor is asked to make a batch now. False if the lease has ended, or the batch begins nothing more.
create or replace function batch_submission_sends(p_org text, p_batch text, p_submission integer, p_node text, p_lines integer)
returns boolean language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update batch_submissions s set state = 'sending', sent_at = now(), sent_lines = p_lines, polls = 0, reads = 0
  where s.org_id = p_org and s.batch_id = p_batch and s.submission = p_submission and s.lease_node = p_node
    and s.lease_until > now() and exists (select from batches b where b.org_id = p_org and b.id = p_batch
      and b.state = 'in_progress' and b.cancelled_at is null and b.ends_at > now());
  return found;
end $fn$;

-- Gives a part back, to be looked at later. Next: {state, vendorBatch, inputFile, isCancelled, polls, reads, afterMs}; without a
-- state, all of it stays as it is.
create or replace function batch_submission_goes_on(p_org text, p_batch text, p_submission integer, p_node text, p_next jsonb)
returns void language sql as $fn$
  select books_moved();
  update batch_submissions s set lease_node = null, lease_until = null,
    next_at = now() + (p_next->>'afterMs')::double precision * interval '1 millisecond'
  where s.org_id = p_org and s.batch_id = p_batch and s.submission = p_submission and s.lease_node = p_node
    and not p_next ? 'state';
  update batch_submissions s set state = p_next->>'state', vendor_batch = p_next->>'vendorBatch',
    input_file = p_next->>'inputFile',
    cancelled_at = case when (p_next->>'isCancelled')::boolean then coalesce(s.cancelled_at, now()) end,
    polls = (p_next->>'polls')::integer + 1, reads = (p_next->>'reads')::integer,
    next_at = now() + (p_next->>'afterMs')::double precision * interval '1 millisecond', lease_node = null, lease_until = null
  where s.org_id = p_org and s.batch_id = p_batch and s.submission = p_submission and s.lease_node = p_node
$fn$;

-- Ends a part, once. Lines that have no answer become parts that the gateway answers, unless the batch begins nothing more.
-- Chunks: [{first, lines, place, bytes}]. False if another node has it now.
create or replace function batch_submission_done(p_org text, p_batch text, p_submission integer, p_node text, p_chunks jsonb)
returns boolean language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  -- Parts of one batch may end at the same time: the numbers of chunks go on from the highest.
  perform from batches b where b.org_id = p_org and b.id = p_batch for update;
  delete from batch_submissions s
  where s.org_id = p_org and s.batch_id = p_batch and s.submission = p_submission and s.lease_node = p_node;
  if not found then
    return false;
  end if;
  insert into batch_chunks (org_id, batch_id, chunk, first_line, lines, place, bytes)
  select p_org, p_batch, (row_number() over (order by x.first))
      + coalesce((select max(k.chunk) from batch_chunks k where k.org_id = p_org and k.batch_id = p_batch), 0),
    x.first, x.lines, x.place, x.bytes
  from jsonb_to_recordset(p_chunks) as x(first integer, lines integer, place bigint, bytes integer)
  where exists (select from batches b where b.org_id = p_org and b.id = p_batch and b.state = 'in_progress'
    and b.cancelled_at is null and b.ends_at > now());
  return true;
end $fn$;
