-- Old nodes: may run.
-- Where a vendor says that it answered.
alter table usage_records add column region text;

-- The usage record of the call that began a job, which the job ends with.
alter table jobs add column usage jsonb;
