-- Old nodes: may run.
-- Files that clients keep here: their facts. Their content is in parts in a bucket or a folder. Functions: file_begin,
-- file_stored, file_erase, upload_complete, files_erase, files_of_owner_erase,
-- files_to_remove, file_gone.
create table client_files (
  org_id text not null,
  id text collate "C" not null,
  -- Its owner; an absent part is empty.
  app_id text not null,
  person_id text not null,
  end_user_id text not null,
  -- One that begins with a point is the gateway's own: an upload, or a part of one.
  purpose text not null,
  state text not null check (state in ('storing', 'stored', 'erased')),
  bytes bigint not null check (bytes >= 0),
  -- The number of its parts.
  parts integer not null,
  created_at timestamptz not null default now(),
  -- Null if it is kept until it is erased.
  erase_at timestamptz,
  -- When its parts were last to be removed.
  tried_at timestamptz,
  -- Its name and type, sealed.
  facts bytea not null,
  primary key (org_id, id)
);
create index client_files_by_owner on client_files (org_id, app_id, person_id, end_user_id, id);
create index client_files_by_time on client_files (org_id, created_at, id);
create index client_files_room on client_files (org_id) include (bytes);
create index client_files_by_purpose on client_files (org_id, purpose, id);
create index client_files_to_erase on client_files (erase_at) where erase_at is not null;
create index client_files_storing on client_files (created_at) where state = 'storing';
create index client_files_erased on client_files (tried_at) where state = 'erased';

-- Where the books are spread already, this is placed as the other tables of the books are.
do $spread$ begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    if exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) then
      perform create_distributed_table('client_files', 'org_id', colocate_with => 'counters');
    end if;
  end if;
end $spread$;
