-- Old nodes: may run.
-- A counter has the times at which its period begins and ends; money has none. They were a day in its name. Nodes of older
-- versions tell no period: retention reads that of their counters from the names.
alter table counters add column starts_at timestamptz, add column ends_at timestamptz;
update counters set
    starts_at = make_date(left(right(counter, 10), 4)::int, substr(right(counter, 10), 6, 2)::int, right(counter, 2)::int)::timestamp
      at time zone interval '8 hours',
    ends_at = (make_date(left(right(counter, 10), 4)::int, substr(right(counter, 10), 6, 2)::int, right(counter, 2)::int)
      + case when counter ~ '^tokens:' or counter ~ '^budget:[^:]+:[a-z]+/day:' then interval '1 day'
          when counter ~ '^budget:[^:]+:[a-z]+/week:' then interval '7 days' else interval '1 month' end)
      at time zone interval '8 hours'
  where counter ~ '^(tokens|budget:.*):\d{4}-\d\d-\d\d$';
drop index counters_by_day;
create index counters_by_end on counters (ends_at) where ends_at is not null;
create index counters_without_end on counters (org_id) where ends_at is null and counter like '%:%';
