-- What must hold of the books; every row that comes back is a finding with the id of what is wrong.
create function ledger_audit()
returns table (finding text, id text) language sql stable as $fn$
  select 'entries do not sum to the balance', b.org_id || ' ' || b.currency
  from balances b
  left join (
    select org_id, currency, sum(amount) filter (where account = 'available') as available,
      coalesce(sum(amount) filter (where account = 'held'), 0) as held
    from entries group by 1, 2) e on e.org_id = b.org_id and e.currency = b.currency
  where e.available is distinct from b.available or e.held is distinct from b.held
  union all
  select 'a movement does not sum to zero', ref from entries group by ref having sum(amount) <> 0
  union all
  select 'a hold has outlived its lease', ref from holds where state = 'held' and lease_until < now()
  union all
  select 'a settlement has no usage record', h.ref from holds h
  where h.state = 'settled' and not exists (select from usage_records u where u.ref = h.ref)
  union all
  select 'a usage record has no settlement', u.ref from usage_records u
  where u.source = 'gateway' and not exists (
    select from holds h where h.ref = u.ref and h.state = 'settled' and h.cost = u.cost)
  union all
  select 'a call was billed twice', u.ref from usage_records u group by u.ref having count(*) > 1
  union all
  select 'a request id was flown twice', org_id || ' ' || key_id || ' ' || request_id
  from holds where state <> 'released' group by org_id, key_id, request_id having count(*) > 1
  union all
  select 'a quota day does not match its holds', q.org_id || ' ' || q.day
  from quota_days q
  left join (
    select org_id, quota_day, sum(quota_tokens) filter (where state = 'held') as reserved, sum(tokens) as used
    from holds group by 1, 2) h on h.org_id = q.org_id and h.quota_day = q.day
  where q.reserved <> coalesce(h.reserved, 0) or q.used < coalesce(h.used, 0)
$fn$;
