-- Old nodes: may run.
-- As before, and tells what was available of each counter before the grant: a small allotment may rest at its node.
drop function ledger_allot(jsonb);
create function ledger_allot(items jsonb)
returns table (item integer, outcome text, counter text, available numeric, others integer, grants jsonb, scarce jsonb,
  balance numeric, stock jsonb)
language plpgsql as $fn$
#variable_conflict use_column
declare
  r record;
  c record;
  share numeric;
begin
  perform 1 from nodes n
    where n.id in (select x.node from jsonb_to_recordset(items) as x(node text)) order by n.id for key share;
  insert into counters (org_id, counter)
    select distinct x.org, y.counter
    from jsonb_to_recordset(items) as x(org text, counters jsonb),
      jsonb_to_recordset(x.counters) as y(counter text)
    where y.counter like '%:%' order by 1, 2
    on conflict do nothing;
  for r in
    select distinct x.org, y.counter from jsonb_to_recordset(items) as x(org text, counters jsonb),
      jsonb_to_recordset(x.counters) as y(counter text)
    order by 1, 2
  loop
    perform 1 from counters k where k.org_id = r.org and k.counter = r.counter for update;
  end loop;
  for r in
    select x.item, x.node, x.org, x.cur, x.counters, exists (
      select from nodes n where n.id = x.node and n.lease_until > now()) as alive
    from jsonb_to_recordset(items) as x(item integer, node text, org text, cur text, counters jsonb)
    order by x.item
  loop
    item := r.item;
    outcome := case when r.alive then 'granted' else 'lapsed' end;
    counter := null;
    available := null;
    others := 0;
    grants := '{}';
    scarce := '[]';
    stock := '{}';
    balance := null;
    if r.alive then
      for c in
        select y.counter, y.need, y.want,
          coalesce(y.limit, k.funded) - k.granted - coalesce((
            select sum(a.spent - a.granted) from allotments a
            where a.org_id = r.org and a.counter = y.counter and a.node <> r.node and a.spent > a.granted), 0) as free,
          (select count(*) from allotments a
            where a.org_id = r.org and a.counter = y.counter and a.node <> r.node and a.granted > a.spent) as others
        from jsonb_to_recordset(r.counters) as y(counter text, need numeric, want numeric, "limit" numeric)
        left join counters k on k.org_id = r.org and k.counter = y.counter
      loop
        if c.free is null or c.free < c.need then
          outcome := 'short';
          counter := c.counter;
          available := c.free;
          others := c.others;
          exit;
        end if;
        share := greatest(c.need, least(c.want, trunc(c.free / 8, 10)));
        grants := grants || jsonb_build_object(c.counter, share::text);
        stock := stock || jsonb_build_object(c.counter, c.free::text);
        if c.free / 8 < c.want then
          scarce := scarce || to_jsonb(c.counter);
        end if;
      end loop;
    end if;
    if outcome = 'granted' then
      for c in select g.key as counter, g.value::numeric as share from jsonb_each_text(grants) g where g.value::numeric <> 0 loop
        update counters k set granted = k.granted + c.share where k.org_id = r.org and k.counter = c.counter;
        insert into allotments as a (org_id, counter, node, granted) values (r.org, c.counter, r.node, c.share)
        on conflict on constraint allotments_pkey do update set granted = a.granted + excluded.granted;
        perform ledger_move(r.org, c.counter, r.node, c.share, r.node);
      end loop;
      balance := ledger_balance(r.org, r.cur);
    end if;
    return next;
  end loop;
end $fn$;
