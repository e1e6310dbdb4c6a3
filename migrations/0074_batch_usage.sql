-- Old nodes: may run; the tokens of answers that they keep are not counted.
-- The tokens of the answers of a batch. Functions: batch_result, batch_counts, batch_end.
alter table batch_results
  add column in_tokens bigint not null default 0,
  add column cached_tokens bigint not null default 0,
  add column out_tokens bigint not null default 0,
  add column reasoning_tokens bigint not null default 0;

-- Of all its answers, once it has ended. Input has the cached tokens, output those of reasoning.
alter table batches
  add column in_tokens bigint not null default 0,
  add column cached_tokens bigint not null default 0,
  add column out_tokens bigint not null default 0,
  add column reasoning_tokens bigint not null default 0;

drop function if exists batch_counts(batches);
drop function if exists batch_result(text, text, integer, text, bytea);
