-- Old nodes: may run; they end a response whose node has died, and do not repeat it.
-- A response in the background whose node dies is repeated once, if nothing was billed. Functions: ledger_checkpoint, ledger_settle,
-- response_begin, response_end, responses_renew, response_repeat.
-- The gateway's request id of the call that makes it; null for the one in its id.
alter table responses add column ref text;
-- Its request, sealed, while it runs and may be repeated.
alter table responses add column request bytea;
