-- Old nodes: may run.
-- Who applied a revision of the catalogue: `admin` (with the admin key, or a session of an operator), `file` (the file that
-- a gateway watches), `development` (the catalogue that a gateway brings along). Null where an older version did.
alter table catalogue_revisions add column applied_by text;

create or replace function audit_catalogue() returns trigger language plpgsql as $fn$
begin
  perform audit_append('catalogue.applied', null, 'service', coalesce(new.applied_by, 'admin'),
    jsonb_build_object('revision', new.revision::text));
  return null;
end $fn$;
