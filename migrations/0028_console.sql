-- Old nodes: may run.
-- What the console shows beside: the text of the catalogue in force, who applied it, and transfers by their time.

-- Of the newest revisions; a catalogue that an older version applied has no text.
alter table catalogue_revisions add column source text;

create index transfers_by_time on transfers using brin (at) with (pages_per_range = 16, autosummarize = on);

-- What each node runs, for as long as somebody looks.
create unlogged table node_views (node text primary key, at timestamptz not null, view json not null);

-- Every operator's action is in the audit log. The end of the log is locked by the commit, after everything else, as
-- elsewhere: two transactions must not wait for each other.
create function audit_topup() returns trigger language plpgsql as $fn$
begin
  perform audit_append('topup.credited', new.org_id, 'service', 'admin',
    jsonb_build_object('topup', new.id, 'amount', new.amount::text, 'currency', new.currency));
  return null;
end $fn$;
create constraint trigger topups_are_audited after insert on topups deferrable initially deferred
  for each row execute function audit_topup();
create function audit_catalogue() returns trigger language plpgsql as $fn$
begin
  perform audit_append('catalogue.applied', null, 'service', 'admin', jsonb_build_object('revision', new.revision::text));
  return null;
end $fn$;
create constraint trigger catalogue_revisions_are_audited after insert on catalogue_revisions
  deferrable initially deferred for each row execute function audit_catalogue();
-- Sealing a key again with another master key is no action of anybody.
create function audit_upstream_key() returns trigger language plpgsql as $fn$
declare
  changed org_upstream_keys := case tg_op when 'DELETE' then old else new end;
begin
  perform audit_append(case tg_op when 'DELETE' then 'upstream_key.removed' else 'upstream_key.set' end, changed.org_id,
    'service', 'admin', jsonb_build_object('vendor', changed.vendor_id, 'hint', changed.hint));
  return null;
end $fn$;
create constraint trigger upstream_keys_are_audited after insert or delete or update of hint on org_upstream_keys
  deferrable initially deferred for each row execute function audit_upstream_key();
