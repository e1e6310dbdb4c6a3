-- Old nodes: may run.
-- Keys have names for people.
alter table app_keys add column name text;
