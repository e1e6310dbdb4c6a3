-- What people call their tokens.
alter table access_tokens add column name text not null default '';
create index access_tokens_by_org on access_tokens (org_id, user_id) where status = 'active';
