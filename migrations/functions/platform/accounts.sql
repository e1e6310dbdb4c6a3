-- Logins, codes, devices and licences.

-- Exchanges a refresh token for the next one. One that comes again was stolen, or its successor was: the login ends.
create or replace function login_refresh(p_secret bytea, p_next bytea, p_expires_at timestamptz)
returns table(verdict text, login_id text, user_id text) language plpgsql as $fn$
declare
  found_login logins;
  found_token refresh_tokens;
begin
  select l.* into found_login from logins l join refresh_tokens t on t.login_id = l.id
    where t.secret_sha256 = p_secret for update of l;
  if not found or found_login.ended_at is not null then
    return query select 'unknown', null::text, null::text;
    return;
  end if;
  -- Read only after the login is ours: what another call has just used is seen as used.
  select * into found_token from refresh_tokens t where t.secret_sha256 = p_secret;
  if found_token.used_at is not null then
    update logins set ended_at = now() where id = found_login.id;
    return query select 'reused', found_login.id, found_login.user_id;
  elsif found_token.expires_at <= now() then
    return query select 'expired', found_login.id, found_login.user_id;
  else
    update refresh_tokens set used_at = now() where secret_sha256 = p_secret;
    insert into refresh_tokens (secret_sha256, login_id, expires_at) values (p_next, found_login.id, p_expires_at);
    return query select 'rotated', found_login.id, found_login.user_id;
  end if;
end $fn$;

-- Makes a code the newest, and keeps as many of the earlier ones; false, and nothing changes, when the hour's share is used up.
create or replace function one_time_code_put(p_purpose text, p_subject text, p_mac bytea, p_expires_at timestamptz,
  p_max_sent integer, p_earlier integer default 2)
returns boolean language plpgsql as $fn$
declare
  code one_time_codes;
  fresh boolean;
begin
  insert into one_time_codes (purpose, subject, code_mac, expires_at) values (p_purpose, p_subject, p_mac, p_expires_at)
    on conflict (purpose, subject) do nothing;
  if found then
    return true;
  end if;
  select * into code from one_time_codes where purpose = p_purpose and subject = p_subject for update;
  fresh := code.hour_started_at <= now() - interval '1 hour';
  if not fresh and code.hour_sent >= p_max_sent then
    return false;
  end if;
  insert into earlier_codes (purpose, subject, code_mac, expires_at, wrong)
    select p_purpose, p_subject, code.code_mac, code.expires_at, code.wrong where not code.spent
    on conflict (purpose, subject, code_mac) do update set
      expires_at = excluded.expires_at, wrong = excluded.wrong, made_at = excluded.made_at;
  delete from earlier_codes e where e.purpose = p_purpose and e.subject = p_subject
    and (code.spent or e.expires_at <= now() or e.code_mac not in (
      select x.code_mac from earlier_codes x where x.purpose = p_purpose and x.subject = p_subject
      order by x.made_at desc limit p_earlier));
  update one_time_codes set
      code_mac = p_mac, expires_at = p_expires_at, spent = false, wrong = 0,
      hour_started_at = case when fresh then now() else hour_started_at end,
      hour_wrong = case when fresh then 0 else hour_wrong end,
      hour_sent = case when fresh then 1 else hour_sent + 1 end
    where purpose = p_purpose and subject = p_subject;
  return true;
end $fn$;

-- Tries a code: the newest, or one that newer ones have followed. One that is right spends them all.
create or replace function one_time_code_try(p_purpose text, p_subject text, p_mac bytea, p_max_wrong integer,
  p_max_hour_wrong integer)
returns text language plpgsql as $fn$
declare
  code one_time_codes;
begin
  select * into code from one_time_codes where purpose = p_purpose and subject = p_subject for update;
  if not found then
    return 'wrong';
  end if;
  if code.hour_started_at <= now() - interval '1 hour' then
    code.hour_wrong := 0;
    update one_time_codes set hour_started_at = now(), hour_wrong = 0, hour_sent = 0
      where purpose = p_purpose and subject = p_subject;
  end if;
  if code.wrong >= p_max_wrong or code.hour_wrong >= p_max_hour_wrong then
    return 'exhausted';
  end if;
  if not code.spent and ((code.code_mac = p_mac and code.expires_at > now()) or exists (
    select from earlier_codes e where e.purpose = p_purpose and e.subject = p_subject
      and e.code_mac = p_mac and e.expires_at > now() and e.wrong < p_max_wrong)) then
    update one_time_codes set spent = true where purpose = p_purpose and subject = p_subject;
    delete from earlier_codes where purpose = p_purpose and subject = p_subject;
    return 'right';
  end if;
  update one_time_codes set wrong = wrong + 1, hour_wrong = hour_wrong + 1 where purpose = p_purpose and subject = p_subject;
  update earlier_codes set wrong = wrong + 1 where purpose = p_purpose and subject = p_subject;
  return 'wrong';
end $fn$;

-- Binds a confirmed subject to a person and makes a login code; false where the link is spent or late, or the subject
-- has become somebody else's in the meantime.
create or replace function sso_bind(p_link bytea, p_user_id text, p_code bytea, p_code_expires_at timestamptz)
returns boolean language plpgsql as $fn$
declare
  link sso_links;
  bound_to text;
begin
  delete from sso_links l where l.link_sha256 = p_link and l.expires_at > now() returning l.* into link;
  if not found then
    return false;
  end if;
  insert into federated_identities (org_id, issuer, subject, user_id)
    values (link.org_id, link.issuer, link.subject, p_user_id) on conflict do nothing;
  if found then
    perform audit_append('auth.sso_linked', link.org_id, 'user', p_user_id,
      jsonb_build_object('issuer', link.issuer, 'subject', link.subject));
  else
    select user_id into bound_to from federated_identities
      where org_id = link.org_id and issuer = link.issuer and subject = link.subject;
    if bound_to is distinct from p_user_id then
      return false;
    end if;
  end if;
  insert into login_codes (code_sha256, user_id, org_id, expires_at)
    values (p_code, p_user_id, link.org_id, p_code_expires_at);
  return true;
end $fn$;

-- Lets a person in again, or out: what a person who is disabled holds stops working, and its logins are over for good.
create or replace function user_set_status(p_id text, p_status text)
returns setof users language plpgsql as $fn$
begin
  perform from users where id = p_id and status <> p_status for update;
  if found then
    perform audit_append(case p_status when 'disabled' then 'user.disabled' else 'user.enabled' end,
      null, 'service', 'admin', jsonb_build_object('user', p_id));
    update users set status = p_status where id = p_id;
    update logins set ended_at = now() where user_id = p_id and ended_at is null and p_status = 'disabled';
  end if;
  return query select * from users where id = p_id;
end $fn$;

-- A device asks. Whoever asks before its time waits longer from then on; an approval is claimed once.
create or replace function device_poll(p_device bytea)
returns table(verdict text, user_id text, interval_s integer, org_id text) language plpgsql as $fn$
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
end $fn$;

-- A person decides: the decision is audited, then the state is stored. False where there is nothing to decide.
create or replace function device_decide(p_user_code text, p_user_id text, p_approve boolean, p_org_id text default null)
returns boolean language plpgsql as $fn$
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
end $fn$;

-- Begins the session of an operator, with its audit record.
create or replace function operator_session_begin(p_id text, p_expires_at timestamptz)
returns void language plpgsql as $fn$
begin
  delete from operator_sessions where expires_at < now() - interval '1 day';
  insert into operator_sessions (id, expires_at) values (p_id, p_expires_at);
  perform audit_append('operator.signed_in', null, 'service', 'admin', jsonb_build_object('session', p_id));
end $fn$;

-- Ends the session of an operator, with its audit record.
create or replace function operator_session_end(p_id text)
returns void language plpgsql as $fn$
begin
  update operator_sessions set ended_at = now() where id = p_id and ended_at is null;
  if found then
    perform audit_append('operator.signed_out', null, 'service', 'admin', jsonb_build_object('session', p_id));
  end if;
end $fn$;

-- Issues a licence, with its audit record.
create or replace function licence_issue(p_id text, p_org_id text, p_app_id text, p_code bytea, p_expires_at timestamptz,
  p_actor_type text, p_actor_id text)
returns setof licences language plpgsql as $fn$
begin
  perform audit_append('license.issued', p_org_id, p_actor_type, p_actor_id,
    jsonb_build_object('licence', p_id, 'appId', p_app_id));
  return query insert into licences (id, org_id, app_id, code_sha256, code_expires_at)
    values (p_id, p_org_id, p_app_id, p_code, p_expires_at) returning *;
end $fn$;

-- Checks the code, redeems it, binds the member and audits, all or nothing. No row: the code is not good.
create or replace function licence_activate(p_code bytea, p_org_ids text[], p_user_id text)
returns setof licences language plpgsql as $fn$
declare
  found_row licences;
begin
  select * into found_row from licences l where l.code_sha256 = p_code and l.status = 'issued'
    and l.code_expires_at > now() and l.org_id = any (p_org_ids) for update;
  if not found then
    return;
  end if;
  perform audit_append('license.activated', found_row.org_id, 'user', p_user_id,
    jsonb_build_object('licence', found_row.id, 'appId', found_row.app_id));
  return query update licences l set status = 'active', user_id = p_user_id where l.id = found_row.id returning *;
end $fn$;

-- Ends a licence, or holds it up. No row: there is no such licence here, or it is not in a state for it.
create or replace function licence_end(p_id text, p_org_id text, p_status text, p_actor_type text, p_actor_id text)
returns setof licences language plpgsql as $fn$
begin
  perform from licences l where l.id = p_id and l.org_id = p_org_id
    and (l.status = 'active' or (p_status = 'revoked' and l.status <> 'revoked')) for update;
  if not found then
    return;
  end if;
  perform audit_append('license.' || p_status, p_org_id, p_actor_type, p_actor_id, jsonb_build_object('licence', p_id));
  return query update licences l set status = p_status, epoch = epoch + 1 where l.id = p_id returning *;
end $fn$;
