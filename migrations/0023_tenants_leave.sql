-- An organisation's own vendor keys come with its row.
create trigger note_change after insert or update or delete on org_upstream_keys
  for each row execute function note_row_change('org', 'org_id');

create index tenants_closed on tenants (changed_at) where status = 'closed';

-- Removes tenants that were closed before the oldest usage record, at most so many. Books name organisations, and those are
-- for ever: one that was ever given money keeps its row. What belonged to a removed application goes with it.
create function retain_tenants(keep_days integer, p_most integer) returns bigint language plpgsql as $fn$
declare
  gone bigint;
begin
  with closed as (
    select kind, id from tenants t
    where t.status = 'closed' and t.changed_at < now() - make_interval(days => keep_days) and (t.kind <> 'org' or not (
      exists (select from transfers x where x.org_id = t.id)
      or exists (select from tenants x where x.org_id = t.id and x.kind <> 'org')))
    order by t.changed_at limit p_most for update skip locked
  ), keys_gone as (
    delete from app_keys k using closed c where c.kind = 'app' and k.app_id = c.id
  ), configs_gone as (
    delete from app_configs a using closed c where c.kind = 'app' and a.app_id = c.id
  ), budgets_gone as (
    delete from org_budgets b using closed c where c.kind = 'org' and b.org_id = c.id
  )
  delete from tenants t using closed c where t.kind = c.kind and t.id = c.id;
  get diagnostics gone = row_count;
  return gone;
end $fn$;

-- As before; an organisation that closes loses the vendor keys that it brought.
create or replace function tenant_close(t tenants) returns void language plpgsql as $fn$
begin
  update app_keys set status = 'revoked', revoked_at = now()
    where status <> 'revoked' and app_id in (
      select id from tenants where kind = 'app' and org_id = t.org_id and (t.kind = 'org' or (t.kind = 'app' and id = t.id)));
  delete from org_upstream_keys where t.kind = 'org' and org_id = t.org_id;
  update tenants set document = jsonb_set(document, '{members}', (document -> 'members') - t.id),
      revision = nextval('tenant_revisions'), changed_at = now()
    where t.kind = 'user' and kind = 'team' and org_id = t.org_id and document -> 'members' ? t.id;
  update tenants set status = 'closed', revision = nextval('tenant_revisions'), changed_at = now(),
      document = case kind
        when 'org' then document || jsonb_build_object('name', (document ->> 'name') || ' (closed)')
        when 'user' then document || jsonb_build_object('email', id || '@closed.invalid')
        else document end
    where org_id = t.org_id and status <> 'closed' and (t.kind = 'org' or (kind = t.kind and id = t.id));
end $fn$;
