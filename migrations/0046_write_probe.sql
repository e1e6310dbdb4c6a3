-- Old nodes: may run.
-- Whether a call could be written down: a node that cannot do this is not ready. A server that is read-only, a standby, or one
-- whose disk is full answers a query all the same.

-- A row fills a page, so that each needs a new one, or one that vacuum has emptied. It is never compressed.
create table write_probes (filler text not null);
alter table write_probes alter column filler set storage plain;

-- Writes a row, and takes it back: nothing stays, and nobody waits for anybody.
create function probe_write() returns void language plpgsql as $fn$
begin
  begin
    insert into write_probes values (repeat('x', 7000));
    raise exception using errcode = 'WE001', message = 'taken back';
  exception when sqlstate 'WE001' then
    null;
  end;
end $fn$;
