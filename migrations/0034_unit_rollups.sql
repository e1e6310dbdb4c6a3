-- Old nodes: may run.
-- Units beside tokens (pictures, seconds, characters, searches), folded as usage is. They begin with this migration: hours
-- that were folded before have none.

create table unit_rollups (
  step text not null check (step in ('hour', 'day')),
  org_id text not null,
  at timestamptz not null,
  app_id text not null,
  key_id text not null,
  model text not null,
  vendor text not null,
  purpose text not null,
  stop text not null,
  unit text not null,
  amount numeric not null,
  primary key (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, unit)
);
create index unit_rollups_by_time on unit_rollups (step, at);

alter function usage_fold_hour(timestamptz, double precision[]) rename to usage_fold_sums_of_hour;
alter function usage_fold_day(timestamptz) rename to usage_fold_sums_of_day;
alter function retain_rollups(integer, integer) rename to retain_sums;

-- Folds one hour, whatever was folded of it before.
create function usage_fold_hour(p_hour timestamptz, p_boundaries double precision[]) returns void language plpgsql as $fn$
begin
  perform usage_fold_sums_of_hour(p_hour, p_boundaries);
  delete from unit_rollups where step = 'hour' and at = p_hour;
  insert into unit_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, unit, amount)
  select 'hour', coalesce(org_id, ''), p_hour, coalesce(app_id, ''), coalesce(key_id, ''), model, vendor, purpose, stop,
    d.key, sum(d.value::numeric)
  from usage_records cross join lateral jsonb_each_text(dims) d
  where at >= p_hour and at < p_hour + interval '1 hour'
  group by grouping sets ((org_id, app_id, key_id, model, vendor, purpose, stop, d.key),
    (model, vendor, purpose, stop, d.key));
end $fn$;

-- Folds one day from its hours.
create function usage_fold_day(p_day timestamptz) returns void language plpgsql as $fn$
begin
  perform usage_fold_sums_of_day(p_day);
  delete from unit_rollups where step = 'day' and at = p_day;
  insert into unit_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, unit, amount)
  select 'day', org_id, p_day, app_id, key_id, model, vendor, purpose, stop, unit, sum(amount)
  from unit_rollups where step = 'hour' and at >= p_day and at < p_day + interval '1 day'
  group by org_id, app_id, key_id, model, vendor, purpose, stop, unit;
end $fn$;

-- Removes hours and days that are past keeping; tells how many rows.
create function retain_rollups(keep_hours_days integer, keep_days integer) returns integer language plpgsql as $fn$
declare
  removed integer := retain_sums(keep_hours_days, keep_days);
  gone integer;
begin
  delete from unit_rollups where (step = 'hour' and at < now() - keep_hours_days * interval '1 day')
    or (step = 'day' and at < now() - keep_days * interval '1 day');
  get diagnostics gone = row_count;
  return removed + gone;
end $fn$;
