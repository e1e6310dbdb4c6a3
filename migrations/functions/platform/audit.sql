-- The audit log.

-- Refuses changes of the audit log.
create or replace function audit_log_is_append_only()
returns trigger language plpgsql as $fn$
begin
  raise exception 'the audit log is append-only';
end $fn$;

-- The hash of an entry: of the hash before it, and of all that it says.
create or replace function audit_hash(before bytea, entry audit_log)
returns bytea language sql immutable as $fn$
  select sha256(before || convert_to(jsonb_build_array(
    entry.seq, (extract(epoch from entry.at) * 1000000)::bigint, entry.action, entry.org_id, entry.actor_type,
    entry.actor_id, entry.detail)::text, 'UTF8'))
$fn$;

-- Adds an entry to the audit log; one that organisations hear of becomes an event too. The lock makes a chain of the entries.
create or replace function audit_append(p_action text, p_org_id text, p_actor_type text, p_actor_id text, p_detail jsonb)
returns void language plpgsql as $fn$
declare
  head audit_head;
  entry audit_log;
begin
  select * into head from audit_head for update;
  entry.seq := head.seq + 1;
  entry.at := clock_timestamp();
  entry.action := p_action;
  entry.org_id := p_org_id;
  entry.actor_type := p_actor_type;
  entry.actor_id := p_actor_id;
  entry.detail := p_detail;
  entry.hash := audit_hash(head.hash, entry);
  insert into audit_log select entry.*;
  update audit_head set seq = entry.seq, hash = entry.hash;
  case p_action
    when 'key.minted' then perform event_append(p_org_id, 'key.created', p_detail ->> 'key', p_detail);
    when 'key.revoked' then perform event_append(p_org_id, 'key.revoked', p_detail ->> 'key', p_detail);
    when 'catalogue.applied' then perform event_append(p_org_id, 'catalogue.applied', 'catalogue', p_detail);
    when 'budget.near' then
      perform event_append(p_org_id, case when p_detail ->> 'percent' = '100' then 'budget.reached' else 'budget.near' end,
        p_detail ->> 'id', p_detail);
    else null;
  end case;
end $fn$;

-- Checks at most so many entries after one that is good; broken is the first that is missing or not what was written.
create or replace function audit_verify(p_after bigint, p_hash bytea, p_limit integer)
returns table(checked integer, last_seq bigint, last_hash bytea, broken bigint) language plpgsql stable as $fn$
declare
  entry audit_log;
begin
  checked := 0;
  last_seq := p_after;
  last_hash := p_hash;
  for entry in select * from audit_log where seq > p_after order by seq limit p_limit loop
    if entry.seq <> last_seq + 1 or entry.hash <> audit_hash(last_hash, entry) then
      broken := last_seq + 1;
      exit;
    end if;
    checked := checked + 1;
    last_seq := entry.seq;
    last_hash := entry.hash;
  end loop;
  return next;
end $fn$;

-- Every operator's action is in the audit log. The end of the log is locked by the commit, after everything else, as
-- elsewhere: two transactions must not wait for each other.
create or replace function audit_topup()
returns trigger language plpgsql as $fn$
begin
  perform audit_append('topup.credited', new.org_id, 'service', 'admin',
    jsonb_build_object('topup', new.id, 'amount', new.amount::text, 'currency', new.currency));
  return null;
end $fn$;

-- Writes a new revision of the catalogue to the audit log.
create or replace function audit_catalogue()
returns trigger language plpgsql as $fn$
begin
  perform audit_append('catalogue.applied', null, 'service', coalesce(new.applied_by, 'admin'),
    jsonb_build_object('revision', new.revision::text));
  return null;
end $fn$;

-- Sealing a key again with another master key is no action of anybody.
create or replace function audit_upstream_key()
returns trigger language plpgsql as $fn$
declare
  changed org_upstream_keys := case tg_op when 'DELETE' then old else new end;
begin
  perform audit_append(case tg_op when 'DELETE' then 'upstream_key.removed' else 'upstream_key.set' end, changed.org_id,
    'service', 'admin', jsonb_build_object('vendor', changed.vendor_id, 'hint', changed.hint));
  return null;
end $fn$;
