-- Jobs that a vendor was asked for: written before it is asked, removed when the call has ended. What a node leaves behind
-- when it dies names a job that the vendor may work on for nobody.
create table job_attempts (
  org_id text not null,
  ref text not null,
  node text not null,
  model text not null,
  at timestamptz not null default now(),
  primary key (org_id, ref)
);

-- Attempts of dead nodes that no job came of.
create function lost_jobs() returns table (org text, ref text, model text, at timestamptz) language sql stable as $fn$
  select a.org_id, a.ref, a.model, a.at
  from job_attempts a left join nodes n on n.id = a.node
  where (n.id is null or n.lease_until < now())
    and not exists (select from jobs j where j.org_id = a.org_id and j.ref = a.ref)
  order by a.at desc limit 100
$fn$;

-- Forgets attempts that were told of for a week.
create function retain_job_attempts(most integer) returns bigint language sql as $fn$
  with old as (select org_id, ref from job_attempts where at < now() - interval '7 days' limit most),
  gone as (
    delete from job_attempts a using old where a.org_id = old.org_id and a.ref = old.ref returning 1
  )
  select count(*) from gone
$fn$;
