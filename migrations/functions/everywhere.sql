-- Functions that reports use on all servers.

-- The boundary of a histogram below which a time to the first frame falls; null where a record has none.
create or replace function first_frame_bucket(p_ms integer, p_boundaries double precision[])
returns double precision language sql immutable as $fn$
  select p_boundaries[least(width_bucket(p_ms - 0.5, p_boundaries) + 1, array_length(p_boundaries, 1))]
$fn$;

-- The dimensions of a usage record with its times, from its columns: a row has another type in each shard.
create or replace function usage_dims(dims jsonb, connect_ms integer, ttfb_ms integer, idle_ms integer, total_ms integer)
returns jsonb language sql immutable as $fn$
  select dims || jsonb_strip_nulls(jsonb_build_object('obs_connect_ms', connect_ms, 'obs_ttfb_ms', ttfb_ms,
    'obs_idle_ms', idle_ms, 'obs_total_ms', total_ms))
$fn$;
