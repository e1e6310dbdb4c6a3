-- Old nodes: may run.
-- Keys have limits of their own: the models that they may call, and rates.
alter table app_keys add column limits jsonb;
