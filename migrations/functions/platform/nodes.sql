-- Reports of nodes.

-- Counts calls that ended, by the minute.
create or replace function report_ended_calls(p_counts json)
returns void language sql as $fn$
  insert into ended_calls as e (at, vendor, model, tier, calls)
  select date_trunc('minute', to_timestamp(at / 1000)), vendor, model, tier, sum(calls)
  from json_to_recordset(p_counts) as x(at double precision, vendor text, model text, tier text, calls bigint)
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (at, vendor, model, tier) do update set calls = e.calls + excluded.calls
$fn$;

-- Notes that a target has failed for good, or works again.
create or replace function target_turned(p_target text, p_is_down boolean, p_reason text default null)
returns void language plpgsql as $fn$
begin
  insert into target_states as t (target, is_down) values (p_target, p_is_down)
  on conflict (target) do update set is_down = excluded.is_down, changed_at = now()
    where t.is_down <> excluded.is_down or (t.is_down and t.changed_at < now() - interval '1 hour');
  if found then
    perform event_append(null, case when p_is_down then 'target.down' else 'target.up' end, p_target,
      jsonb_strip_nulls(jsonb_build_object('target', p_target, 'reason', p_reason)));
  end if;
end $fn$;

-- Writes a row, and takes it back: nothing stays, and nobody waits for anybody.
create or replace function probe_write()
returns void language plpgsql as $fn$
begin
  begin
    insert into write_probes values (repeat('x', 7000));
    raise exception using errcode = 'WE001', message = 'taken back';
  exception when sqlstate 'WE001' then
    null;
  end;
end $fn$;
