/** Reads people and teams of one organisation with what its directory sent of them. Every query names the organisation. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Role } from "../../protocol/catalogue/values.ts"
import { maxMembers } from "../../protocol/scim/values.ts"
import { queryDeadline } from "../../store/database.ts"
import type { StoredGroup, StoredUser } from "./resource-json.ts"

/** The conditions of a filter that the store decides; the rest is decided by the reader of the list. */
export interface Narrowing {
  readonly id?: string | undefined
  readonly externalId?: string | undefined
  /** The address of a person, or the name of a group, in any case. */
  readonly name?: string | undefined
}

/** A part of a list in the order of ids: after an id, or from an offset. */
export interface Span {
  readonly after?: string | undefined
  readonly offset?: number | undefined
  readonly limit: number
}

export const makeScimRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const bounded = yield* queryDeadline
  const always = sql`true`
  const only = <A>(value: A | undefined, condition: (value: A) => typeof always) =>
    value === undefined ? always : condition(value)

  /** The groups of people, by the people's ids. */
  const groupsOf = Effect.fnUntraced(function* (orgId: string, ids: ReadonlyArray<string>) {
    const rows = yield* bounded(sql<{ member: string; value: string; display: string }>`
      select m.member, g.id as value, g.name as display
      from (
        select t.id, coalesce(s.attributes ->> 'displayName', t.document ->> 'name', t.id) as name, t.document -> 'members' as members
        from tenants t left join scim_resources s on s.kind = 'group' and s.id = t.id and s.org_id = t.org_id
        where t.kind = 'team' and t.org_id = ${orgId} and t.status <> 'closed'
        union all
        select id, attributes ->> 'displayName', members from scim_resources
        where kind = 'group' and org_id = ${orgId} and role is not null) g
      cross join jsonb_array_elements_text(g.members) as m(member)
      where m.member = any(${ids}::text[]) order by g.id`)
    return Map.groupBy(rows, ({ member }) => member)
  })

  const users = Effect.fnUntraced(function* (
    orgId: string,
    { id, externalId, name }: Narrowing,
    { after, offset = 0, limit }: Span,
    withGroups: boolean,
  ) {
    const found = yield* bounded(sql<Record<string, unknown>>`
      select t.id, t.document ->> 'email' as email, t.document ->> 'role' as role, t.status = 'active' as "isActive",
        coalesce(s.attributes, '{}') as attributes, t.revision::text as revision,
        coalesce(s.revision, 0)::text as "scimRevision", to_json(t.created_at) #>> '{}' as "createdAt",
        to_json(greatest(t.changed_at, s.changed_at)) #>> '{}' as "changedAt"
      from tenants t left join scim_resources s on s.kind = 'user' and s.id = t.id and s.org_id = t.org_id
      where t.kind = 'user' and t.org_id = ${orgId} and t.status <> 'closed'
        and ${only(id, (id) => sql`t.id = ${id}`)}
        and ${only(externalId, (externalId) => sql`s.external_id = ${externalId}`)}
        and ${only(name, (name) => sql`t.label = ${name.toLowerCase()}`)}
        and ${only(after, (after) => sql`t.id > ${after}`)}
      order by t.id offset ${offset}::int limit ${limit}::int`)
    const rows = decodeUsers(found)
    const groups =
      withGroups && rows.length > 0
        ? yield* groupsOf(
            orgId,
            rows.map(({ id }) => id),
          )
        : undefined
    return rows.map(
      (row): StoredUser => ({
        ...row,
        groups: (groups?.get(row.id) ?? []).map(({ value, display }) => ({ value, display })),
      }),
    )
  })

  /** Rows of groups without their members. */
  const bareGroups = Effect.fnUntraced(function* (
    orgId: string,
    { id, externalId, name }: Narrowing,
    { after, offset = 0, limit }: Span,
  ) {
    const found = yield* bounded(sql<Record<string, unknown>>`
      select g.id, g.name as "displayName", g.role, g.is_mapped as "isMapped", g.attributes, g.revision,
        g.scim_revision as "scimRevision", jsonb_array_length(g.members) as size,
        to_json(g.created_at) #>> '{}' as "createdAt", to_json(g.changed_at) #>> '{}' as "changedAt"
      from (
        select t.id, coalesce(s.attributes ->> 'displayName', t.document ->> 'name', t.id) as name, null as role,
          coalesce(s.is_mapped, false) as is_mapped, coalesce(s.attributes, '{}') as attributes, s.external_id,
          t.revision::text as revision, coalesce(s.revision, 0)::text as scim_revision, t.document -> 'members' as members,
          t.created_at, greatest(t.changed_at, s.changed_at) as changed_at
        from tenants t left join scim_resources s on s.kind = 'group' and s.id = t.id and s.org_id = t.org_id
        where t.kind = 'team' and t.org_id = ${orgId} and t.status <> 'closed'
        union all
        select id, attributes ->> 'displayName', role, true, attributes, external_id, '', revision::text, members,
          created_at, changed_at
        from scim_resources where kind = 'group' and org_id = ${orgId} and role is not null) g
      where ${only(id, (id) => sql`g.id = ${id}`)}
        and ${only(externalId, (externalId) => sql`g.external_id = ${externalId}`)}
        and ${only(name, (name) => sql`lower(g.name) = ${name.toLowerCase()}`)}
        and ${only(after, (after) => sql`g.id > ${after}`)}
      order by g.id offset ${offset}::int limit ${limit}::int`)
    return decodeGroups(found)
  })

  const membersOf = Effect.fnUntraced(function* (orgId: string, ids: ReadonlyArray<string>) {
    const rows = yield* bounded(sql<{ group: string; value: string }>`
      select g.id as "group", u.id as value
      from (
        select id, document -> 'members' as members from tenants
        where kind = 'team' and org_id = ${orgId} and id = any(${ids}::text[])
        union all
        select id, members from scim_resources
        where kind = 'group' and org_id = ${orgId} and role is not null and id = any(${ids}::text[])) g
      cross join jsonb_array_elements_text(g.members) with ordinality as m(member, place)
      join tenants u on u.kind = 'user' and u.id = m.member and u.org_id = ${orgId} and u.status <> 'closed'
      order by g.id, m.place`)
    return Map.groupBy(rows, ({ group }) => group)
  })

  /** Groups; fewer than asked for if together they have too many members. */
  const groups = Effect.fnUntraced(function* (orgId: string, by: Narrowing, span: Span, withMembers: boolean) {
    const bare = yield* bareGroups(orgId, by, span)
    let left = maxMembers
    const fitting = withMembers
      ? bare.filter(({ size }, at) => {
          left -= left < 0 ? 0 : size
          return at === 0 || left >= 0
        })
      : bare
    const members =
      withMembers && fitting.length > 0
        ? yield* membersOf(
            orgId,
            fitting.map(({ id }) => id),
          )
        : undefined
    return fitting.map(
      ({ size: _, role, ...row }): StoredGroup => ({
        ...row,
        role: role ?? undefined,
        members: (members?.get(row.id) ?? []).map(({ value }) => value),
      }),
    )
  })

  const count = (orgId: string, kind: "user" | "group") =>
    Effect.map(
      bounded(
        kind === "user"
          ? sql<{ count: number }>`
              select count(*)::int as count from tenants where kind = 'user' and org_id = ${orgId} and status <> 'closed'`
          : sql<{ count: number }>`
              select (select count(*) from tenants where kind = 'team' and org_id = ${orgId} and status <> 'closed')::int
                + (select count(*) from scim_resources where kind = 'group' and org_id = ${orgId} and role is not null)::int as count`,
      ),
      ([row]) => row?.count ?? 0,
    )

  /** The ids that are no members of the organisation. */
  const unknownMembers = (orgId: string, ids: ReadonlyArray<string>) =>
    Effect.map(
      bounded(sql<{ id: string }>`
        select x.id from unnest(${ids}::text[]) as x(id)
        except select id from tenants
          where kind = 'user' and id = any(${ids}::text[]) and org_id = ${orgId} and status <> 'closed'
        limit 1`),
      (rows) => rows.map(({ id }) => id),
    )

  /** People with the roles that the directory sent of them, and those of groups. @param without a group that is not counted */
  const rolesOf = (orgId: string, ids: ReadonlyArray<string>, without = "") =>
    Effect.map(
      bounded(sql<Record<string, unknown>>`
        select t.id, t.document ->> 'role' as role, t.is_declared as "isDeclared", s.attributes -> 'roles' as roles,
          array(select g.role from scim_resources g
            where g.kind = 'group' and g.org_id = ${orgId} and g.role is not null and g.id <> ${without} and g.members ? t.id) as given
        from tenants t left join scim_resources s on s.kind = 'user' and s.id = t.id and s.org_id = t.org_id
        where t.kind = 'user' and t.org_id = ${orgId} and t.status <> 'closed' and t.id = any(${ids}::text[])`),
      decodeRoles,
    )

  /** Stores what a directory sent; false if somebody else has stored something since it was read. */
  const store = (
    kind: "user" | "group",
    orgId: string,
    id: string,
    seen: string,
    attributes: Schema.JsonObject,
    more: {
      readonly role?: Role | undefined
      readonly members?: ReadonlyArray<string>
      readonly isMapped?: boolean
    } = {},
  ) =>
    Effect.map(
      bounded(sql`
        insert into scim_resources as r (kind, id, org_id, attributes, role, members, is_mapped)
        values (${kind}, ${id}, ${orgId}, ${JSON.stringify(attributes)}::text::jsonb, ${more.role ?? null},
          ${JSON.stringify(more.members ?? [])}::text::jsonb, ${more.isMapped ?? false})
        on conflict (kind, id) do update set attributes = excluded.attributes, members = excluded.members,
          is_mapped = r.is_mapped or excluded.is_mapped, revision = r.revision + 1, changed_at = now()
        where r.revision::text = ${seen} and r.org_id = ${orgId}
        returning r.id`),
      (rows) => rows.length > 0,
    )

  const forget = (kind: "user" | "group", orgId: string, id: string) =>
    Effect.asVoid(
      bounded(sql`
        with gone as (delete from scim_resources where kind = ${kind} and org_id = ${orgId} and id = ${id})
        update scim_resources set members = members - ${id}::text, revision = revision + 1, changed_at = now()
        where ${kind} = 'user' and kind = 'group' and org_id = ${orgId} and role is not null and members ? ${id}`),
    )

  return { users, groups, count, unknownMembers, rolesOf, store, forget, bounded, sql }
})

const common = {
  id: Schema.String,
  attributes: Schema.JsonObject,
  revision: Schema.String,
  scimRevision: Schema.String,
  createdAt: Schema.String,
  changedAt: Schema.String,
}
const decodeUsers = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ ...common, email: Schema.String, role: Role, isActive: Schema.Boolean })),
)
const decodeGroups = Schema.decodeUnknownSync(
  Schema.Array(
    Schema.Struct({
      ...common,
      displayName: Schema.String,
      role: Schema.NullOr(Role),
      isMapped: Schema.Boolean,
      size: Schema.Int,
    }),
  ),
)
const decodeRoles = Schema.decodeUnknownSync(
  Schema.Array(
    Schema.Struct({
      id: Schema.String,
      role: Role,
      isDeclared: Schema.Boolean,
      roles: Schema.NullOr(Schema.Json),
      given: Schema.Array(Role),
    }),
  ),
)
