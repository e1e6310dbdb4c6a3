-- What was decided, by whom: append-only, each entry bound to all before it by its hash.
create table audit_log (
  seq bigint primary key,
  at timestamptz not null,
  action text not null,
  org_id text,
  actor_type text not null check (actor_type in ('user', 'org', 'service')),
  actor_id text not null,
  detail jsonb not null,
  hash bytea not null check (length(hash) = 32)
);
create index audit_log_by_org on audit_log (org_id, seq desc);

create function audit_log_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only';
end $$;
create trigger audit_log_append_only before update or delete on audit_log
  for each row execute function audit_log_is_append_only();
create trigger audit_log_no_truncate before truncate on audit_log
  for each statement execute function audit_log_is_append_only();

-- Where the log ends. Its lock puts writers in a row.
create table audit_head (
  one boolean primary key default true check (one),
  seq bigint not null,
  hash bytea not null
);
insert into audit_head (seq, hash) values (0, sha256('weir audit log'));

-- The hash of an entry: of the hash before it, and of all that it says.
create function audit_hash(before bytea, entry audit_log) returns bytea language sql immutable as $$
  select sha256(before || convert_to(jsonb_build_array(
    entry.seq, (extract(epoch from entry.at) * 1000000)::bigint, entry.action, entry.org_id, entry.actor_type,
    entry.actor_id, entry.detail)::text, 'UTF8'))
$$;

create function audit_append(p_action text, p_org_id text, p_actor_type text, p_actor_id text, p_detail jsonb)
returns void language plpgsql as $$
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
end $$;

-- Checks at most so many entries after one that is good; broken is the first that is missing or not what was written.
create function audit_verify(p_after bigint, p_hash bytea, p_limit integer)
returns table (checked integer, last_seq bigint, last_hash bytea, broken bigint) language plpgsql stable as $$
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
end $$;
