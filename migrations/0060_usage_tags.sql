-- Old nodes: may run.
-- Tags of a call: names and values by which usage is counted.
alter table usage_records add column tags jsonb;
