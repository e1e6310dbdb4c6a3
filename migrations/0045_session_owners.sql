-- Old nodes: may run, but do not know the sessions of keys whose ids have slashes, nor do new ones know theirs.
-- The owner of a session is its key, or `KEY/USER`. A slash of the key's own id is written %2F, so that no user of one
-- key is another key.
update sessions s set caller = replace(k.id, '/', '%2F') || substr(s.caller, length(k.id) + 1)
from app_keys k
where k.id like '%/%' and (s.caller = k.id or starts_with(s.caller, k.id || '/'));
