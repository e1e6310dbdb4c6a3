-- Old nodes: may run.
-- A settlement's reply is bytes beside its fields, no base64 within them, and its id's day is told by the gateway (-infinity where it
-- carries none): reading these took a third of PostgreSQL's time for a hold and its settlement.

do $each$
declare
  body text := pg_get_functiondef('ledger_settle(json, boolean)'::regprocedure);
  -- Ids of days until this one are in the table without days.
  old_until text := substring(pg_get_functiondef('spent_day(text)'::regprocedure) from '\d{4}-\d\d-\d\d');
begin
  body := replace(body, 'ledger_settle(items json, any_opened boolean)', 'ledger_settle(items json, any_opened boolean, replies bytea)');
  body := replace(body, 'spent_day(x.req) as spent_on', format('case when x.req_day > %L::date then x.req_day
      when x.req_day is null and x.req is not null then spent_day(x.req) end as spent_on', old_until));
  body := replace(body, 'reply text, told numeric,', 'req_day date, reply_from integer, reply_bytes integer, told numeric,');
  body := replace(body, 'decode(c.reply, ''base64'')', 'substr(replies, c.reply_from, c.reply_bytes)');
  body := replace(body, 'decode(r.reply, ''base64'')', 'substr(replies, r.reply_from, r.reply_bytes)');
  body := replace(body, 'j.reply, j.told,', 'j.reply_from, j.reply_bytes, j.told,');
  body := replace(body, 'c.reply is not null', 'c.reply_from is not null');
  body := replace(body, 'j.reply is not null', 'j.reply_from is not null');
  -- Else, a table for thousands of budgets is made for each batch.
  body := replace(body, 'from charge c, json_each_text(c.budgets) u group by 1, 2, 3',
    'from charge c, json_each_text(c.budgets) u where json_typeof(c.budgets) = ''object'' group by 1, 2, 3');
  execute body;
end $each$;

-- An id is free again when its exchange is released after its first checkpoint, also one that carries its time: 0041 left it spent.
create or replace function ledger_release(items json) returns void language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  with closed as (
    delete from holds h using json_to_recordset(items) as x(org text, ref text)
    where h.org_id = x.org and h.ref = x.ref and h.state = 'open'
    returning h.org_id, h.key_id, h.request_id, h.ref
  ), freed as (
    delete from spent_requests s using closed c
    where s.org_id = c.org_id and s.key_id = c.key_id and s.request_id = c.request_id and s.ref = c.ref
  )
  delete from spent_days s using closed c
  where s.org_id = c.org_id and s.key_id = c.key_id and s.request_id = c.request_id and s.day = spent_day(c.request_id)
    and s.ref = c.ref;
end $fn$;

-- Of nodes of versions before.
create or replace function ledger_settle(items json, any_opened boolean)
returns table(item integer, outcome text, balance numeric) language sql as $fn$
  with each as (
    select x.fields, x.at, decode(x.fields->>'reply', 'base64') as reply
    from json_array_elements(items) with ordinality as x(fields, at)
  ), placed as (
    select fields::jsonb - 'reply' as fields, at, coalesce(reply, '') as reply, reply is not null as has_reply,
      1 + sum(length(coalesce(reply, ''))) over (order by at) - length(coalesce(reply, '')) as reply_from
    from each
  ), packed as (
    select json_agg(case when has_reply
        then fields || jsonb_build_object('reply_from', reply_from, 'reply_bytes', length(reply)) else fields end order by at) as items,
      string_agg(reply, '' order by at) as replies
    from placed
  )
  select s.* from packed p cross join lateral ledger_settle(p.items, any_opened, p.replies) s
$fn$;
