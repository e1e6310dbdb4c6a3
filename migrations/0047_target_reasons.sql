-- Old nodes: may run, and tell no reason.
-- Why a target is down: its calls fail, or what it lacks.
drop function target_turned(text, boolean);
create function target_turned(p_target text, p_is_down boolean, p_reason text default null) returns void
language plpgsql as $fn$
begin
  insert into target_states as t (target, is_down) values (p_target, p_is_down)
  on conflict (target) do update set is_down = excluded.is_down, changed_at = now()
    where t.is_down <> excluded.is_down or (t.is_down and t.changed_at < now() - interval '1 hour');
  if found then
    perform event_append(null, case when p_is_down then 'target.down' else 'target.up' end, p_target,
      jsonb_strip_nulls(jsonb_build_object('target', p_target, 'reason', p_reason)));
  end if;
end $fn$;
