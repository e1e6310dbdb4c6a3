-- Old nodes: may run.
-- The newest migration that every node must know: a node that does not know it does not start. Migrations that older
-- nodes can run beside leave it as it is.
create table schema_needs (migration integer not null);
create unique index schema_needs_is_one_row on schema_needs ((true));
insert into schema_needs (migration) values (0);
