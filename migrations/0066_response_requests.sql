-- Old nodes: may run.
-- The request of a response in the background, which a repeat names again, and the reply that answers the request id of any response:
-- it is erased with it. Functions: ledger_settle, responses_remove, response_request, retain_responses, response_begin.
-- The caller's key and request id, and the sealed hash of its request.
alter table responses add column key_id text;
alter table responses add column request_id text;
alter table responses add column request_hash bytea;
-- The time in the reply that answers its request id again, if there is one.
alter table responses add column replied_at timestamptz;
create index responses_by_request on responses (org_id, key_id, request_id) where request_id is not null;
