-- Old nodes: may run.
-- Contents of responses and of items of conversations that are larger than a row should be: sealed objects in a bucket or a folder.
-- Functions: object_begin, objects_name, objects_erase, objects_to_remove, object_gone, ledger_settle, settled_objects_name,
-- responses_remove, responses_of_owner_remove, retain_responses, retain_response_days, response_thread, response_end, response_amend,
-- conversations_remove, conversation_begin, conversation_append, conversation_add, conversations_append, conversation_cut, books_bytes.
create table content_objects (
  org_id text not null,
  -- The SHA-256 hash of the sealed content.
  id text collate "C" not null,
  -- storing: no row names it yet; named: one row does; erased: no row does any more.
  state text not null default 'storing' check (state in ('storing', 'named', 'erased')),
  created_at timestamptz not null default now(),
  -- When it was erased, or was last to be removed.
  tried_at timestamptz,
  primary key (org_id, id)
);
create index content_objects_storing on content_objects (created_at) where state = 'storing';
create index content_objects_erased on content_objects (tried_at) where state = 'erased';

-- The object that has the content of a row, and its length; null if the row has it itself.
alter table responses add column object_id text;
alter table responses add column object_bytes bigint;
alter table conversation_items add column object_id text;
alter table conversation_items add column object_bytes bigint;

-- Lists of operators, and the erasure of what an owner has kept.
create index responses_by_time on responses (org_id, created_at desc, id desc);
create index responses_by_owner on responses (org_id, app_id, person_id);
create index conversations_by_time on conversations (org_id, created_at desc, id desc);
create index conversations_by_owner on conversations (org_id, app_id, person_id, end_user_id);

drop function if exists conversation_append(text, text, text[], bytea[], timestamptz);

-- Where the books are spread already, this is placed as the other tables of the books are.
do $spread$ begin
  if exists (select from pg_class where relname = 'pg_dist_partition') then
    if exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) then
      perform create_distributed_table('content_objects', 'org_id', colocate_with => 'counters');
    end if;
  end if;
end $spread$;
