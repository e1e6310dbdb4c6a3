-- People who have logged in. Which organisations they belong to is the catalogue's to say, by this id or by the address.
create table users (
  id text primary key,
  email text not null unique check (email = lower(email)),
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz not null default now()
);

-- A login lasts as long as its refresh tokens are rotated, and ends for ever with a logout or a reuse.
create table logins (
  id text primary key,
  user_id text not null references users (id),
  method text not null,
  started_at timestamptz not null default now(),
  ended_at timestamptz
);
create index logins_by_user on logins (user_id);

create table refresh_tokens (
  secret_sha256 bytea primary key check (length(secret_sha256) = 32),
  login_id text not null references logins (id) on delete cascade,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index refresh_tokens_by_login on refresh_tokens (login_id);

-- Exchanges a refresh token for the next one. One that comes again was stolen, or its successor was: the login ends.
create function login_refresh(p_secret bytea, p_next bytea, p_expires_at timestamptz)
returns table (verdict text, login_id text, user_id text) language plpgsql as $$
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
end $$;

-- One-time codes, one at a time for each purpose and subject; only a keyed hash is kept. Wrong codes are counted for the
-- code, and within an hour for the subject, so that asking for another code does not buy more attempts.
create table one_time_codes (
  purpose text not null,
  subject text not null,
  code_mac bytea not null check (length(code_mac) = 32),
  expires_at timestamptz not null,
  spent boolean not null default false,
  wrong integer not null default 0,
  hour_started_at timestamptz not null default now(),
  hour_wrong integer not null default 0,
  hour_sent integer not null default 1,
  primary key (purpose, subject)
);
create index one_time_codes_by_time on one_time_codes (expires_at);

-- Puts a new code in the place of the one before; false, and nothing changes, when the hour's share is used up.
create function one_time_code_put(p_purpose text, p_subject text, p_mac bytea, p_expires_at timestamptz, p_max_sent integer)
returns boolean language plpgsql as $$
declare
  fresh boolean;
begin
  insert into one_time_codes (purpose, subject, code_mac, expires_at) values (p_purpose, p_subject, p_mac, p_expires_at)
    on conflict (purpose, subject) do nothing;
  if found then
    return true;
  end if;
  select hour_started_at <= now() - interval '1 hour' into fresh from one_time_codes
    where purpose = p_purpose and subject = p_subject for update;
  update one_time_codes set
      code_mac = p_mac, expires_at = p_expires_at, spent = false, wrong = 0,
      hour_started_at = case when fresh then now() else hour_started_at end,
      hour_wrong = case when fresh then 0 else hour_wrong end,
      hour_sent = case when fresh then 1 else hour_sent + 1 end
    where purpose = p_purpose and subject = p_subject and (fresh or hour_sent < p_max_sent);
  return found;
end $$;

-- Tries a code: right (and spent), wrong, or exhausted. A code that is late, spent or unknown is wrong like any other.
create function one_time_code_try(p_purpose text, p_subject text, p_mac bytea, p_max_wrong integer, p_max_hour_wrong integer)
returns text language plpgsql as $$
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
  if code.code_mac = p_mac and not code.spent and code.expires_at > now() then
    update one_time_codes set spent = true where purpose = p_purpose and subject = p_subject;
    return 'right';
  end if;
  update one_time_codes set wrong = wrong + 1, hour_wrong = hour_wrong + 1 where purpose = p_purpose and subject = p_subject;
  return 'wrong';
end $$;

-- Forgets codes of yesterday and logins whose last refresh token has expired.
create function retain_accounts() returns bigint language plpgsql as $$
declare
  removed bigint;
  gone bigint;
begin
  delete from one_time_codes where expires_at < now() - interval '1 day' and hour_started_at < now() - interval '1 day';
  get diagnostics removed = row_count;
  delete from logins l where l.started_at < now() - interval '1 day'
    and not exists (select from refresh_tokens t where t.login_id = l.id and t.expires_at > now() - interval '1 day');
  get diagnostics gone = row_count;
  return removed + gone;
end $$;
