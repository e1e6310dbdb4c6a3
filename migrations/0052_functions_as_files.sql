-- Old nodes: may run.
-- From here on, functions stand in migrations/functions as they run, and are written after the newest numbered file. What depends on
-- the database itself stays with it: books_moved, next_transfer_id, and the day after which request ids are in partitions.
do $each$ begin
  execute format('create function spent_days_after() returns date language sql immutable as $body$ select %L::date $body$',
    substring(pg_get_functiondef('spent_day(text)'::regprocedure) from '\d{4}-\d\d-\d\d'));
end $each$;
