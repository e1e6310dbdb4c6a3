-- Logging in at an organisation's own identity provider (OpenID Connect). Only hashes of secrets are kept.

-- A login by an organisation's provider acts in that organisation alone: another's provider has no say there.
alter table logins add column org_id text;

-- Logins that a browser has begun and its provider has not answered yet.
create table sso_flows (
  state_sha256 bytea primary key check (length(state_sha256) = 32),
  org_id text not null,
  return_to text,
  client_state text,
  user_code text,
  expires_at timestamptz not null
);
create index sso_flows_by_time on sso_flows (expires_at);

-- Who a provider's subject is here. A subject stays bound to the person who confirmed it.
create table federated_identities (
  org_id text not null,
  issuer text not null,
  subject text not null,
  user_id text not null references users (id),
  linked_at timestamptz not null default now(),
  primary key (org_id, issuer, subject)
);
create index federated_identities_by_user on federated_identities (user_id);

-- Subjects that have yet to confirm, by a code that comes by mail, whom they are.
create table sso_links (
  link_sha256 bytea primary key check (length(link_sha256) = 32),
  org_id text not null,
  issuer text not null,
  subject text not null,
  email text not null,
  return_to text,
  client_state text,
  user_code text,
  expires_at timestamptz not null
);
create index sso_links_by_time on sso_links (expires_at);

-- One-time login codes, which a back end exchanges for tokens.
create table login_codes (
  code_sha256 bytea primary key check (length(code_sha256) = 32),
  user_id text not null references users (id),
  org_id text not null,
  expires_at timestamptz not null
);
create index login_codes_by_time on login_codes (expires_at);

-- Binds a confirmed subject to a person and makes a login code; false where the link is spent or late, or the subject
-- has become somebody else's in the meantime.
create function sso_bind(p_link bytea, p_user_id text, p_code bytea, p_code_expires_at timestamptz)
returns boolean language plpgsql as $$
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
end $$;

create or replace function retain_accounts() returns bigint language plpgsql as $$
declare
  removed bigint := 0;
  gone bigint;
begin
  delete from one_time_codes where expires_at < now() - interval '1 day' and hour_started_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from device_codes where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from sso_flows where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from sso_links where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from login_codes where expires_at < now() - interval '1 day';
  get diagnostics gone = row_count;
  removed := removed + gone;
  delete from logins l where l.started_at < now() - interval '1 day'
    and not exists (select from refresh_tokens t where t.login_id = l.id and t.expires_at > now() - interval '1 day');
  get diagnostics gone = row_count;
  return removed + gone;
end $$;
