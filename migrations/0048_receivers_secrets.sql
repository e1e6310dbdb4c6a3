-- Old nodes: may run.
-- An address of a receiver may have a secret in it: the audit log has it without userinfo, query and fragment.
create or replace function address_without_secrets(p_url text) returns text language sql immutable as $fn$
  select regexp_replace(regexp_replace(p_url, '[?#].*$', ''), '^([a-z][a-z0-9+.-]*://)[^/@]*@', '\1', 'i')
$fn$;

create or replace function org_webhook_make(p_org text, p_id text, p_url text, p_events text[], p_secret text, p_most integer,
  p_actor_type text, p_actor_id text)
returns setof org_webhooks language plpgsql as $fn$
begin
  perform pg_advisory_xact_lock(hashtext('weir.webhooks ' || p_org));
  if (select count(*) from org_webhooks w where w.org_id = p_org) >= p_most then
    return;
  end if;
  perform audit_append('webhook.made', p_org, p_actor_type, p_actor_id,
    jsonb_build_object('webhook', p_id, 'url', address_without_secrets(p_url), 'events', p_events));
  return query insert into org_webhooks (org_id, id, url, events, sealed_secret)
    values (p_org, p_id, p_url, p_events, p_secret) returning *;
end $fn$;

-- The entries of before: what follows the first that changes has new hashes, and a last entry says so, with the first entry
-- that did not fit before. Whoever keeps the hash of the head elsewhere takes the new one.
declare
  v_first bigint;
  v_before bytea;
  v_broken bigint;
  v_entry audit_log;
begin
  perform 1 from audit_head for update;
  select min(seq) into v_first from audit_log
    where action = 'webhook.made' and detail ->> 'url' <> address_without_secrets(detail ->> 'url');
  if v_first is not null then
    v_before := coalesce((select hash from audit_log where seq = v_first - 1), sha256('weir audit log'));
    select v.broken into v_broken from audit_verify(v_first - 1, v_before, 2147483647) v;
    alter table audit_log disable trigger audit_log_append_only;
    for v_entry in select * from audit_log where seq >= v_first order by seq loop
      if v_entry.action = 'webhook.made' then
        v_entry.detail := jsonb_set(v_entry.detail, '{url}', to_jsonb(address_without_secrets(v_entry.detail ->> 'url')));
      end if;
      v_entry.hash := audit_hash(v_before, v_entry);
      update audit_log set detail = v_entry.detail, hash = v_entry.hash where seq = v_entry.seq;
      v_before := v_entry.hash;
    end loop;
    alter table audit_log enable trigger audit_log_append_only;
    update audit_head set hash = v_before;
    perform audit_append('audit.masked', null, 'service', 'migration',
      jsonb_build_object('from', v_first::text, 'broken', v_broken::text));
  end if;
end;
