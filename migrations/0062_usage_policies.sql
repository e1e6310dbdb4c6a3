-- Old nodes: may run.
-- Matches of content policies in a call, without their text.
alter table usage_records add column policies jsonb;
