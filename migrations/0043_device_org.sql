-- Old nodes: may run.
-- A login that acts in one organisation only approves devices for that organisation only.
alter table device_codes add column org_id text;

drop function device_poll(bytea);
create function device_poll(p_device bytea)
returns table (verdict text, user_id text, interval_s integer, org_id text) language plpgsql as $$
declare
  code device_codes;
begin
  select * into code from device_codes d where d.device_sha256 = p_device for update;
  if not found or code.state = 'claimed' or code.expires_at <= now() then
    return query select 'expired', null::text, null::integer, null::text;
  elsif clock_timestamp() < code.polled_at + make_interval(secs => code.interval_s - 0.5) then
    update device_codes d set polled_at = clock_timestamp(), interval_s = code.interval_s + 5
      where d.device_sha256 = p_device;
    return query select 'slow_down', null::text, code.interval_s + 5, null::text;
  else
    update device_codes d set polled_at = clock_timestamp(),
        state = case when code.state = 'approved' then 'claimed' else code.state end
      where d.device_sha256 = p_device;
    return query select code.state, code.user_id, code.interval_s, code.org_id;
  end if;
end $$;

-- Nodes of versions before name no organisation.
drop function device_decide(text, text, boolean);
create function device_decide(p_user_code text, p_user_id text, p_approve boolean, p_org_id text default null)
returns boolean language plpgsql as $$
declare
  code device_codes;
begin
  select * into code from device_codes d
    where d.user_code = p_user_code and d.state = 'pending' and d.expires_at > now() for update;
  if not found then
    return false;
  end if;
  perform audit_append(
    case when p_approve then 'auth.device_approved' else 'auth.device_denied' end, p_org_id, 'user', p_user_id,
    jsonb_build_object('clientName', code.client_name, 'scope', code.scope));
  update device_codes d set state = case when p_approve then 'approved' else 'denied' end, user_id = p_user_id,
      org_id = p_org_id
    where d.device_sha256 = code.device_sha256;
  return true;
end $$;
