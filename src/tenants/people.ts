/**
 * The members of an organisation, by the proven address of an account. The database's view `members` says who they are: people
 * with an open invitation are none. Read when it is needed, and kept for two seconds or until any person or team changes.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { WeirConfig } from "../config.ts"
import type { Subjects } from "../money/budgets/budget.ts"
import { SubjectLimits } from "../protocol/catalogue/limits.ts"
import type { Role } from "../protocol/catalogue/values.ts"
import { makeCachedLookup } from "../store/cached-lookup.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type LimitedSubject, limitedSubject } from "./subject-limits.ts"
import { type OrgEntry, Tenants } from "./tenants.ts"

/** A person as a credential identifies it. */
export interface Person {
  readonly id: string
  /** A verified address takes precedence over the id; absent for somebody who has never logged in. */
  readonly email: string | undefined
}

export interface Membership {
  readonly org: OrgEntry
  readonly role: Role
  readonly teams: ReadonlyArray<string>
  /** The limits that are set at the person and the teams. */
  readonly limits: ReadonlyArray<LimitedSubject>
}

/** A member as an organisation knows them. */
export interface Member {
  readonly id: string
  readonly email: string
  readonly teams: ReadonlyArray<string>
}

export class People extends Context.Service<
  People,
  {
    /** The organisations of which a person is a member, by their ids. */
    readonly membershipsOf: (person: Person) => Effect.Effect<ReadonlyArray<Membership>, StoreUnavailable>
    readonly isMember: (person: Person, orgId: string) => Effect.Effect<boolean, StoreUnavailable>
    readonly member: (orgId: string, id: string) => Effect.Effect<Member | undefined, StoreUnavailable>
    /** Addresses of an organisation's owners whose accounts are not disabled. */
    readonly owners: (orgId: string) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
    /** Whether an organisation has a team, application or key; false if it is unknown, another organisation's or closed. */
    readonly has: (orgId: string, kind: "team" | "app" | "key", id: string) => Effect.Effect<boolean, StoreUnavailable>
    readonly hasEnabledTeam: (orgId: string, id: string) => Effect.Effect<boolean, StoreUnavailable>
    /** All subjects of each scope that an organisation has declared; people and end users may exist without being declared. */
    readonly subjects: (orgId: string) => Effect.Effect<Subjects, StoreUnavailable>
  }
>()("weir/tenants/People") {
  static readonly layer = Layer.effect(
    People,
    Effect.gen(function* () {
      const { authStaleMs } = yield* WeirConfig
      const sql = yield* SqlClient.SqlClient
      const feed = yield* ChangeFeed
      const tenants = yield* Tenants
      const bounded = yield* queryDeadline

      const rowsOf = yield* makeCachedLookup<ReadonlyArray<MemberRow>>((key) => {
        const [, by = "", value = ""] = /^\d+ (id|email) (.*)$/su.exec(key) ?? []
        return bounded(sql<MemberRow>`
          select u.id, u.org_id as org, u.email, u.role, ${teamsOf(sql)} as teams, ${limitsOf(sql)} as limits
          from members u where ${sql(by)} = ${value} order by u.org_id`)
      }, authStaleMs)
      let generation = 0
      yield* feed.subscribe((subjects) => {
        if (subjects === "all" || [...subjects].some((subject) => /^(user|team):/u.test(subject))) generation++
      })

      const membershipsOf = Effect.fnUntraced(function* ({ id, email }: Person) {
        const rows = yield* rowsOf(`${generation} ${email === undefined ? `id ${id}` : `email ${email}`}`)
        const memberships: Array<Membership> = []
        for (const { org: orgId, role, teams, limits } of rows ?? []) {
          const org = yield* tenants.org(orgId)
          if (org !== undefined) memberships.push({ org, role, teams, limits: readLimits(limits) })
        }
        return memberships
      })

      const exists = (found: Effect.Effect<ReadonlyArray<object>, SqlError.SqlError>) =>
        Effect.map(bounded(found), (rows) => rows.length > 0)

      const idsOf = (orgId: string) =>
        bounded(sql<{ kind: "team" | "user" | "app" | "key"; ids: ReadonlyArray<string> }>`
          select kind, array_agg(id) as ids from (
            select kind, id from tenants where org_id = ${orgId} and kind <> 'org' and status <> 'closed' and not is_invited
            union all
            select 'key', k.id from tenants t join app_keys k on k.app_id = t.id
              where t.org_id = ${orgId} and t.kind = 'app') x
          group by kind`)

      return People.of({
        membershipsOf,
        isMember: (person, orgId) =>
          Effect.map(membershipsOf(person), (memberships) => memberships.some(({ org }) => org.org.id === orgId)),
        member: (orgId, id) =>
          Effect.map(
            bounded(sql<Member>`
              select u.id, u.email, ${teamsOf(sql)} as teams from members u
              where u.id = ${id} and u.org_id = ${orgId}`),
            ([row]) => row,
          ),
        owners: (orgId) =>
          Effect.map(
            bounded(sql<{ email: string }>`
              select u.email from members u left join users a on a.email = u.email
              where u.org_id = ${orgId} and u.role = 'owner' and a.status is distinct from 'disabled'
              order by u.id`),
            (rows) => rows.map(({ email }) => email),
          ),
        has: (orgId, kind, id) =>
          exists(
            kind === "key"
              ? sql`
                  select from app_keys k join tenants t on t.kind = 'app' and t.id = k.app_id
                  where k.id = ${id} and t.org_id = ${orgId} and t.status <> 'closed'`
              : sql`
                  select from tenants
                  where kind = ${kind} and id = ${id} and org_id = ${orgId} and status <> 'closed'`,
          ),
        hasEnabledTeam: (orgId, id) =>
          exists(sql`
            select from tenants
            where kind = 'team' and id = ${id} and org_id = ${orgId} and status = 'active'
              and document ->> 'disabled' is distinct from 'true'`),
        subjects: (orgId) =>
          Effect.map(idsOf(orgId), (rows) => {
            const of = (kind: string) => rows.find((row) => row.kind === kind)?.ids ?? []
            return { org: [orgId], team: of("team"), person: of("user"), app: of("app"), key: of("key"), endUser: [] }
          }),
      })
    }),
  )
}

interface MemberRow extends Member {
  readonly org: string
  readonly role: Role
  /** The subjects with limits, teams first. */
  readonly limits: ReadonlyArray<unknown>
}

/** The teams of a person `u`, sorted. */
const teamsOf = (sql: SqlClient.SqlClient) => sql`
  array(select t.id from tenants t
    where t.org_id = u.org_id and t.kind = 'team' and t.status = 'active'
      and t.document ->> 'disabled' is distinct from 'true' and t.document -> 'members' ? u.id
    order by t.id)`

/** The documents of a person `u` and the person's teams, if they have limits. */
const limitsOf = (sql: SqlClient.SqlClient) => sql`
  array(select jsonb_build_object('scope', case t.kind when 'team' then 'team' else 'person' end, 'id', t.id,
      'limits', jsonb_strip_nulls(jsonb_build_object('models', t.document -> 'models', 'rates', t.document -> 'rates',
        'tools', t.document -> 'tools')))
    from tenants t
    where t.org_id = u.org_id and t.document ?| array['models', 'rates', 'tools']
      and (t.kind = 'user' and t.id = u.id
        or t.kind = 'team' and t.status = 'active' and t.document -> 'members' ? u.id)
    order by t.kind, t.id)`

const Limited = Schema.Struct({ scope: Schema.Literals(["team", "person"]), id: Schema.String, limits: SubjectLimits })
const decodeLimited = Schema.decodeUnknownOption(Limited)

/** Limits that this version cannot read allow nothing: they are there to narrow. */
const readLimits = (rows: ReadonlyArray<unknown>): ReadonlyArray<LimitedSubject> =>
  rows.flatMap((row) =>
    Option.match(decodeLimited(row), {
      onNone: () => [unreadable],
      onSome: ({ scope, id, limits }) => limitedSubject(scope, id, limits),
    }),
  )

const unreadable: LimitedSubject = { scope: "person", id: "", models: [], tools: [] }
