/** Lists of tenants, people and keys for operators, a page at a time, by their ids; keys by age. */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SubjectLimits } from "../protocol/catalogue/limits.ts"
import type { AdminUser, KeyList, UserList } from "../protocol/control/admin-directory.ts"
import type { TenantKind, TenantStatus } from "../protocol/control/tenants.ts"
import type { ServiceError } from "../protocol/error.ts"
import { cursorReader, type Page, pageOf } from "../protocol/values/cursor.ts"
import { storedName } from "../protocol/values/text.ts"
import { LongQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { StoredTenant } from "./tenant-changes.ts"

export interface Search {
  readonly limit: number
  readonly cursor: string | undefined
  /** Only of this organisation. */
  readonly org?: string | undefined
  /** Only with this status. */
  readonly status?: TenantStatus | undefined
  /** The beginning of an id, a name or an address, in any case. */
  readonly search?: string | undefined
}

/** The number of applications and members of an organisation. */
export interface OrgSizes {
  readonly id: string
  readonly apps: number
  readonly members: number
}

export interface ModelsOfOrgs {
  /** Null for all models. */
  readonly models: ReadonlyArray<string> | null
  readonly count: number
}

export interface PolicyNames {
  readonly policy: string
  readonly kind: "app" | "key" | "org"
  readonly count: number
  readonly ids: ReadonlyArray<string>
}

type ListError = ServiceError<"bad_request"> | StoreUnavailable

export class Directory extends Context.Service<
  Directory,
  {
    readonly list: (kind: TenantKind, search: Search) => Effect.Effect<Page<StoredTenant>, ListError>
    readonly sizes: (orgIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<OrgSizes>, StoreUnavailable>
    /** People by address: accounts, and members without one. */
    readonly users: (search: Search) => Effect.Effect<UserList, ListError>
    readonly user: (email: string) => Effect.Effect<AdminUser | undefined, StoreUnavailable>
    readonly keys: (search: Search) => Effect.Effect<typeof KeyList.Encoded, ListError>
    /** The lists of models of active organisations, and the number of organisations that have each. */
    readonly listsOfModels: Effect.Effect<ReadonlyArray<ModelsOfOrgs>, StoreUnavailable>
    /** The subjects that name policies: of each kind, their number and the first 20. */
    readonly namesOfPolicies: (org: string | undefined) => Effect.Effect<ReadonlyArray<PolicyNames>, StoreUnavailable>
    /** Whether any organisation has an identity provider. */
    readonly hasSso: Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/tenants/Directory") {
  static readonly layer = Layer.effect(
    Directory,
    Effect.gen(function* () {
      const { sql } = yield* LongQueries
      const bounded = yield* queryDeadline
      const always = sql`true`

      const usersAt = (emails: ReadonlyArray<string>) =>
        bounded(sql<AdminUser>`
          select coalesce(a.id, m.id) as id, x.email, coalesce(a.status, 'invited') as status,
            coalesce(m.memberships, '[]') as memberships
          from unnest(${emails}::text[]) with ordinality as x(email, place)
          left join users a on a.email = x.email
          left join lateral (
            select min(t.id) as id, json_agg(json_strip_nulls(json_build_object('org', t.org_id, 'role',
              t.document ->> 'role', 'invited', nullif(t.is_invited, false))) order by t.org_id) as memberships
            from tenants t where t.kind = 'user' and t.label = x.email and t.status <> 'closed') m on true
          order by x.place`)

      return Directory.of({
        list: Effect.fnUntraced(function* (kind, { limit, cursor, org, status, search }) {
          const [after] = yield* placeOf(cursor)
          const prefix = prefixOf(search)
          const rows = yield* bounded(sql<{ row: StoredTenant }>`
            select tenant_row(t) as row from tenants t where kind = ${kind} and id > ${after}
              and ${org === undefined ? always : sql`org_id = ${org}`}
              and ${status === undefined ? always : sql`status = ${status}`}
              and ${prefix === undefined ? always : sql`(id like ${prefix.exact} or label like ${prefix.lower})`}
            order by id limit ${limit + 1}::int`)
          return pageOf(
            rows.map(({ row }) => row),
            limit,
            ({ id }) => [id],
          )
        }),
        sizes: (orgIds) =>
          bounded(sql<OrgSizes>`
            select x.id, count(*) filter (where t.kind = 'app')::int as apps,
              count(*) filter (where t.kind = 'user' and not t.is_invited)::int as members
            from unnest(${orgIds}::text[]) as x(id)
            left join tenants t on t.org_id = x.id and t.kind in ('app', 'user') and t.status <> 'closed'
            group by x.id`),
        users: Effect.fnUntraced(function* ({ limit, cursor, org, search }) {
          const [after] = yield* placeOf(cursor)
          const prefix = prefixOf(search)?.lower ?? "%"
          const rows = yield* bounded(
            org === undefined
              ? sql<{ email: string }>`
                  select email from (
                    (select email collate "C" as email from users
                      where email collate "C" > ${after} and email collate "C" like ${prefix}
                      order by email collate "C" limit ${limit + 1}::int)
                    union
                    (select label from tenants
                      where kind = 'user' and status <> 'closed' and label > ${after} and label like ${prefix}
                      order by label limit ${limit + 1}::int)) x
                  order by email limit ${limit + 1}::int`
              : sql<{ email: string }>`
                  select distinct label as email from tenants
                  where org_id = ${org} and kind = 'user' and status <> 'closed' and label > ${after}
                    and label like ${prefix}
                  order by label limit ${limit + 1}::int`,
          )
          const { data, nextCursor } = pageOf(rows, limit, ({ email }) => [email])
          return { data: yield* usersAt(data.map(({ email }) => email)), nextCursor }
        }),
        user: (email) => Effect.map(usersAt([email]), ([user]) => user),
        keys: Effect.fnUntraced(function* ({ limit, cursor, org, search }) {
          const prefix = prefixOf(search)
          const [before, after] = yield* keyPlaceOf(cursor)
          const rows = yield* bounded(sql<KeyRow>`
            select k.id, k.name, k.app_id as "appId", t.document ->> 'name' as "appName", t.org_id as "orgId", k.scopes, k.status, k.origin,
              to_json(k.created_at) #>> '{}' as "createdAt", to_json(k.expires_at) #>> '{}' as "expiresAt",
              k.made_by as "madeBy", to_json(u.used_at) #>> '{}' as "lastUsedAt", k.limits,
              to_json(k.former_until) #>> '{}' as "formerUntil", k.former_until > now() as "hasFormer"
            from app_keys k left join key_uses u on u.key_id = k.id left join tenants t on t.kind = 'app' and t.id = k.app_id
            where k.created_at <= ${before}::text::timestamptz
              and (k.created_at < ${before}::text::timestamptz or k.id > ${after})
              and ${org === undefined ? always : sql`t.org_id = ${org}`}
              and ${
                prefix === undefined
                  ? always
                  : sql`(k.id like ${prefix.exact} or lower(k.name) like ${prefix.lower} or k.app_id like ${prefix.exact}
                    or lower(t.document ->> 'name') like ${prefix.lower})`
              }
            order by k.created_at desc, k.id limit ${limit + 1}::int`)
          const page = pageOf(rows, limit, ({ createdAt, id }) => [createdAt, id])
          return {
            ...page,
            data: page.data.map(
              ({
                orgId,
                name,
                appName,
                createdAt,
                expiresAt,
                madeBy,
                lastUsedAt,
                formerUntil,
                hasFormer,
                limits,
                ...key
              }) => ({
                ...key,
                ...(madeBy !== null && { madeBy }),
                ...(lastUsedAt !== null && { lastUsedAt: new Date(lastUsedAt).toISOString() }),
                ...(hasFormer === true && formerUntil !== null && { formerUntil: new Date(formerUntil).toISOString() }),
                ...Option.getOrElse(decodeLimits(limits ?? {}), () => ({})),
                ...(name !== null && { name }),
                ...(appName !== null && { appName }),
                ...(orgId !== null && { orgId }),
                createdAt: new Date(createdAt).toISOString(),
                ...(expiresAt !== null && { expiresAt: new Date(expiresAt).toISOString() }),
              }),
            ),
          }
        }),
        listsOfModels: bounded(sql<ModelsOfOrgs>`
          select document -> 'models' as models, count(*)::int as count
          from tenants where kind = 'org' and status = 'active' group by 1`),
        namesOfPolicies: (org) =>
          bounded(sql<PolicyNames>`
          select policy, kind, count(*)::int as count, (array_agg(id order by id))[1:20] as ids
          from (
            select distinct p.policy, t.kind, t.id
            from tenants t, jsonb_array_elements_text(t.document -> 'policies') p(policy)
            where t.kind in ('org', 'app') and t.status <> 'closed' and t.document ? 'policies'
              and ${org === undefined ? always : sql`(t.org_id = ${org} or (t.kind = 'org' and t.id = ${org}))`}
            union all
            select distinct p.policy, 'key', k.id
            from app_keys k, jsonb_array_elements_text(k.limits -> 'policies') p(policy)
            where k.status <> 'revoked' and k.limits ? 'policies'
              and ${org === undefined ? always : sql`exists (select from tenants a where a.kind = 'app' and a.id = k.app_id and a.org_id = ${org})`}) named
          group by 1, 2`),
        hasSso: Effect.map(
          bounded(sql`select from tenants where kind = 'org' and document ? 'sso' limit 1`),
          (rows) => rows.length > 0,
        ),
      })
    }),
  )
}

type Known = (typeof KeyList.Encoded)["data"][number]
type Nullable = "name" | "appName" | "orgId" | "expiresAt" | "madeBy" | "lastUsedAt" | "formerUntil"
type KeyRow = Omit<Known, Nullable | "models" | "rates" | "tools"> & {
  readonly [member in Nullable]: string | null
} & {
  readonly hasFormer: boolean | null
  readonly limits: unknown
}

/** Patterns of `like` for texts that begin with a text. */
const prefixOf = (search: string | undefined) => {
  if (search === undefined || search === "") return undefined
  const exact = `${search.replace(/[\\%_]/gu, (special) => `\\${special}`)}%`
  return { exact, lower: exact.toLowerCase() }
}

const placeOf = cursorReader(Schema.Tuple([storedName(512)]), [""])

/** Instants as `to_json` writes them. */
const Timestamp = Schema.String.check(
  Schema.isPattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?[+-]\d\d:\d\d$/),
  Schema.makeFilter((text: string) => (Number.isNaN(Date.parse(text)) ? "an instant is required" : undefined)),
)
const keyPlaceOf = cursorReader(
  Schema.Tuple([Schema.Union([Timestamp, Schema.Literal("infinity")]), storedName(512)]),
  ["infinity", ""],
)

/** Limits as they are stored and sent. */
const decodeLimits = Schema.decodeUnknownOption(Schema.toEncoded(SubjectLimits))
