-- Old nodes: may run, but sign with the new secret alone while a webhook's secret is rotated.
-- Secrets of organisations' webhooks that were replaced, each sealed: they sign beside the new one until their time is over.
create table org_webhook_former_secrets (
  org_id text not null,
  webhook text not null,
  sealed_secret text not null,
  valid_until timestamptz not null,
  primary key (org_id, webhook, sealed_secret),
  foreign key (org_id, webhook) references org_webhooks (org_id, id) on delete cascade
);
create index org_webhook_former_secrets_ended on org_webhook_former_secrets (valid_until);

-- Replaces a secret. The former ones stay valid no longer than asked for now, and the newest of them alone where there are many:
-- whoever rotates again because a reply was lost still has the secret of before. Nothing if there is no such webhook.
create function org_webhook_rotate(p_org text, p_id text, p_secret text, p_former_ms double precision, p_most integer,
  p_actor_type text, p_actor_id text)
returns table (id text, url text, events text[], created_at timestamptz, former_until timestamptz) language plpgsql as $fn$
#variable_conflict use_column
declare
  v_until timestamptz := now() + p_former_ms * interval '1 millisecond';
  w org_webhooks;
begin
  select * into w from org_webhooks x where x.org_id = p_org and x.id = p_id for update;
  if not found then
    return;
  end if;
  update org_webhook_former_secrets f set valid_until = least(f.valid_until, v_until)
    where f.org_id = p_org and f.webhook = p_id;
  insert into org_webhook_former_secrets (org_id, webhook, sealed_secret, valid_until)
    values (p_org, p_id, w.sealed_secret, v_until);
  delete from org_webhook_former_secrets f
    where f.org_id = p_org and f.webhook = p_id and (f.valid_until <= now() or f.sealed_secret not in (
      select x.sealed_secret from org_webhook_former_secrets x where x.org_id = p_org and x.webhook = p_id
      order by x.valid_until desc, x.sealed_secret = w.sealed_secret desc limit p_most));
  update org_webhooks x set sealed_secret = p_secret where x.org_id = p_org and x.id = p_id;
  perform audit_append('webhook.rotated', p_org, p_actor_type, p_actor_id, jsonb_build_object('webhook', p_id,
    'formerSecretUntil', to_json(v_until) #>> '{}'));
  return query select w.id, w.url, w.events, w.created_at, case when v_until > now() then v_until end;
end $fn$;

create function retain_former_secrets(p_most integer) returns bigint language plpgsql as $fn$
declare
  gone bigint;
begin
  delete from org_webhook_former_secrets where ctid in (
    select ctid from org_webhook_former_secrets where valid_until <= now() limit p_most);
  get diagnostics gone = row_count;
  return gone;
end $fn$;
