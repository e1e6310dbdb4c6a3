-- Old nodes: may run.
-- Codes that newer ones have followed stay valid: whoever asks for codes of another's address does not make that person's code
-- useless.
create table earlier_codes (
  purpose text not null,
  subject text not null,
  code_mac bytea not null,
  expires_at timestamptz not null,
  -- Wrong codes since it was made: each counts for all codes that are valid then.
  wrong integer not null,
  made_at timestamptz not null default clock_timestamp(),
  primary key (purpose, subject, code_mac),
  foreign key (purpose, subject) references one_time_codes (purpose, subject) on delete cascade
);

-- Makes a code the newest, and keeps as many of the earlier ones; false, and nothing changes, when the hour's share is used up.
drop function one_time_code_put(text, text, bytea, timestamptz, integer);
create function one_time_code_put(p_purpose text, p_subject text, p_mac bytea, p_expires_at timestamptz, p_max_sent integer,
  p_earlier integer default 2)
returns boolean language plpgsql as $$
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
end $$;

-- As before; a code that newer ones have followed is right, too. One that is right spends them all.
create or replace function one_time_code_try(p_purpose text, p_subject text, p_mac bytea, p_max_wrong integer,
  p_max_hour_wrong integer)
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
end $$;
