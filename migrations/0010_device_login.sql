-- Logins that begin on one device and are approved on another (RFC 8628). Only the hash of a device code is kept.
create table device_codes (
  device_sha256 bytea primary key check (length(device_sha256) = 32),
  user_code text not null unique,
  client_name text not null,
  scope text,
  state text not null default 'pending' check (state in ('pending', 'approved', 'denied', 'claimed')),
  user_id text references users (id),
  expires_at timestamptz not null,
  interval_s integer not null,
  polled_at timestamptz
);
create index device_codes_by_time on device_codes (expires_at);

-- A device asks. Whoever asks before its time waits longer from then on; an approval is claimed once.
create function device_poll(p_device bytea)
returns table (verdict text, user_id text, interval_s integer) language plpgsql as $$
declare
  code device_codes;
begin
  select * into code from device_codes d where d.device_sha256 = p_device for update;
  if not found or code.state = 'claimed' or code.expires_at <= now() then
    return query select 'expired', null::text, null::integer;
  elsif clock_timestamp() < code.polled_at + make_interval(secs => code.interval_s - 0.5) then
    update device_codes d set polled_at = clock_timestamp(), interval_s = code.interval_s + 5
      where d.device_sha256 = p_device;
    return query select 'slow_down', null::text, code.interval_s + 5;
  else
    update device_codes d set polled_at = clock_timestamp(),
        state = case when code.state = 'approved' then 'claimed' else code.state end
      where d.device_sha256 = p_device;
    return query select code.state, code.user_id, code.interval_s;
  end if;
end $$;

-- A person decides: the decision is audited, then the state is stored. False where there is nothing to decide.
create function device_decide(p_user_code text, p_user_id text, p_approve boolean) returns boolean language plpgsql as $$
declare
  code device_codes;
begin
  select * into code from device_codes d
    where d.user_code = p_user_code and d.state = 'pending' and d.expires_at > now() for update;
  if not found then
    return false;
  end if;
  perform audit_append(
    case when p_approve then 'auth.device_approved' else 'auth.device_denied' end, null, 'user', p_user_id,
    jsonb_build_object('clientName', code.client_name, 'scope', code.scope));
  update device_codes d set state = case when p_approve then 'approved' else 'denied' end, user_id = p_user_id
    where d.device_sha256 = code.device_sha256;
  return true;
end $$;

create or replace function retain_accounts() returns bigint language plpgsql as $$
declare
  removed bigint;
  gone bigint;
begin
  delete from one_time_codes where expires_at < now() - interval '1 day' and hour_started_at < now() - interval '1 day';
  get diagnostics removed = row_count;
  delete from device_codes where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from logins l where l.started_at < now() - interval '1 day'
    and not exists (select from refresh_tokens t where t.login_id = l.id and t.expires_at > now() - interval '1 day');
  get diagnostics gone = row_count;
  return removed + gone;
end $$;
