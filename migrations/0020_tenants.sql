-- Tenants: organisations, and their teams, people and applications, each as a catalogue writes it. What the catalogue file
-- declares is changed by that file only. The revision is for `If-Match`.
create sequence tenant_revisions;
create table tenants (
  kind text not null check (kind in ('org', 'team', 'user', 'app')),
  id text collate "C" not null,
  org_id text not null,
  document jsonb not null,
  is_declared boolean not null,
  status text not null default 'active' check (status in ('active', 'disabled', 'closed')),
  revision bigint not null default nextval('tenant_revisions'),
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  -- What people search for, and a person's address as accounts have it.
  label text collate "C" not null
    generated always as (lower(coalesce(document ->> 'email', document ->> 'name', id))) stored,
  primary key (kind, id)
);
create index tenants_by_org on tenants (org_id, kind, id);
create index tenants_by_label on tenants (kind, label);
create index tenants_with_sso on tenants (id) where kind = 'org' and document ? 'sso';

-- Lists of operators.
create index users_by_email on users (email collate "C");
create index app_keys_by_age on app_keys (created_at desc, id);

-- What nodes keep of tenants and keys, and must read again. A node reads what was written since it last looked: by
-- transaction, because transactions end in another order than they begin.
create table changes (
  id bigint generated always as identity primary key,
  -- e.g. `org:acme` or `key:k1`.
  subject text not null,
  txid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default now()
);
create index changes_by_txid on changes (txid);

create function note_change(p_subject text) returns void language plpgsql as $$
begin
  insert into changes (subject) values (p_subject);
  notify weir_changes;
end $$;

create function note_tenant_change() returns trigger language plpgsql as $$
declare
  changed tenants;
begin
  if tg_op = 'DELETE' then changed := old; else changed := new; end if;
  perform note_change(changed.kind || ':' || changed.id);
  return null;
end $$;
create trigger note_change after insert or update or delete on tenants
  for each row execute function note_tenant_change();

-- Arguments: a kind, and the column of its id.
create function note_row_change() returns trigger language plpgsql as $$
declare
  changed jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  perform note_change(tg_argv[0] || ':' || (changed ->> tg_argv[1]));
  return null;
end $$;
create trigger note_change after insert or update or delete on app_keys
  for each row execute function note_row_change('key', 'id');
create trigger note_change after insert or update or delete on app_configs
  for each row execute function note_row_change('app', 'app_id');
create trigger note_change after insert or update or delete on org_budgets
  for each row execute function note_row_change('org', 'org_id');

-- What the catalogue file declares now: rows of `{kind, id, org, document}`. Rows that the file does not own stay as they
-- are; their names are returned.
create function tenants_declare(p_changed jsonb) returns table (kind text, id text) language plpgsql as $fn$
#variable_conflict use_column
begin
  -- One writer at a time: batches lock rows in their own order.
  perform pg_advisory_xact_lock(hashtext('tenants'));
  insert into tenants as t (kind, id, org_id, document, is_declared)
    select x.kind, x.id, x.org, x.document, true
    from jsonb_to_recordset(p_changed) as x(kind text, id text, org text, document jsonb)
  on conflict (kind, id) do update set org_id = excluded.org_id, document = excluded.document,
    revision = nextval('tenant_revisions'), changed_at = now()
  where t.is_declared;
  return query
    select t.kind, t.id from jsonb_to_recordset(p_changed) as x(kind text, id text)
    join tenants t on t.kind = x.kind and t.id = x.id where not t.is_declared;
end $fn$;

-- Those of the catalogue in force.
perform tenants_declare((
  select jsonb_agg(jsonb_build_object('kind', s.kind, 'id', e ->> 'id', 'org', e ->> s.org, 'document', e))
  from (select document from catalogue_revisions order by revision desc limit 1) c
  cross join (values ('org', 'orgs', 'id'), ('team', 'teams', 'org'), ('user', 'users', 'org'), ('app', 'apps', 'org'))
    as s(kind, section, org)
  cross join jsonb_array_elements(coalesce(c.document -> s.section, '[]')) as e));
