-- Old nodes: may run.
-- Ids that vendors gave through routes that are passed through, and their owners. An absent part of an owner is empty.
create table passed_ids (
  -- The account at the vendor.
  place text collate "C" not null,
  id text collate "C" not null,
  org_id text not null,
  app_id text not null,
  person_id text not null,
  end_user_id text not null,
  created_at timestamptz not null default now(),
  primary key (place, id)
);
create index passed_ids_by_org on passed_ids (org_id);
