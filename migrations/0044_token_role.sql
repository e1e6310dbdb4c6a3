-- Old nodes: may run, but give a token that an admin mints for the organisation the rights of an owner.
-- The role of an organisation's own token: that of whoever minted it. Those of before act as owners.
alter table access_tokens add column role text check (role in ('owner', 'admin'));
