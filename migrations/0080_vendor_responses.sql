-- Old nodes: may run; a response that a vendor runs is lost with its node, where they end it.
-- A response in the background may run at its vendor: any node goes on with it. Functions: ledger_settle, response_end, response_repeat,
-- response_works.
-- The target and the vendor's own id of the response, sealed, while it runs there.
alter table responses add column work bytea;
