-- Old nodes: may run.
-- Operators who signed in with a browser. The cookie names its session, sealed; a session that ended is refused.
create table operator_sessions (
  id text primary key,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz
);

create function operator_session_begin(p_id text, p_expires_at timestamptz) returns void language plpgsql as $fn$
begin
  delete from operator_sessions where expires_at < now() - interval '1 day';
  insert into operator_sessions (id, expires_at) values (p_id, p_expires_at);
  perform audit_append('operator.signed_in', null, 'service', 'admin', jsonb_build_object('session', p_id));
end $fn$;

create function operator_session_end(p_id text) returns void language plpgsql as $fn$
begin
  update operator_sessions set ended_at = now() where id = p_id and ended_at is null;
  if found then
    perform audit_append('operator.signed_out', null, 'service', 'admin', jsonb_build_object('session', p_id));
  end if;
end $fn$;
