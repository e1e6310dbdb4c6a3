-- Old nodes: may run.
-- Vendor calls that a timeout tier ended, by the minute: the distributions of tier times are made of bills, and these
-- calls have none.
create table ended_calls (
  at timestamptz not null,
  vendor text not null,
  -- The model handle.
  model text not null,
  tier text not null,
  calls bigint not null,
  primary key (at, vendor, model, tier)
);

create function report_ended_calls(p_counts json) returns void language sql as $fn$
  insert into ended_calls as e (at, vendor, model, tier, calls)
  select date_trunc('minute', to_timestamp(at / 1000)), vendor, model, tier, sum(calls)
  from json_to_recordset(p_counts) as x(at double precision, vendor text, model text, tier text, calls bigint)
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (at, vendor, model, tier) do update set calls = e.calls + excluded.calls
$fn$;

-- Removes what is past keeping, at most so many; tells how many rows it removed.
create function retain_ended_calls(keep_days integer, most integer) returns integer language plpgsql as $fn$
declare
  removed integer;
begin
  delete from ended_calls where (at, vendor, model, tier) in (
    select at, vendor, model, tier from ended_calls where at < now() - keep_days * interval '1 day' order by at limit most);
  get diagnostics removed = row_count;
  return removed;
end $fn$;
