-- Leases of nodes.

-- Begins the lease of a node.
create or replace function node_join(p_node text, p_lease_ms double precision)
returns void language sql as $fn$
  select books_moved();
  insert into nodes (id, lease_until) values (p_node, now() + p_lease_ms * interval '1 millisecond')
$fn$;

-- Prolongs the lease of a node; false where it has run out.
create or replace function node_renew(p_node text, p_lease_ms double precision)
returns boolean language plpgsql as $fn$
begin
  if books_moved() then raise exception 'the books have moved'; end if;
  update nodes set lease_until = now() + p_lease_ms * interval '1 millisecond' where id = p_node;
  return found;
end $fn$;

-- Ends the lease of a node just now, and not long ago: the check of the books lets a minute pass before it tells of allotments.
create or replace function node_leave(p_node text)
returns void language sql as $fn$
  select books_moved();
  update nodes set lease_until = least(lease_until, now() - interval '1 millisecond') where id = p_node
$fn$;
