-- Old nodes: may run.
-- The place in its conversation at which the items of a response were appended; null if none were. Functions: conversations_append,
-- conversation_add.
alter table responses add column conversation_place bigint;
