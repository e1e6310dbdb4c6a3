/** Membership, role and teams that a login at an organisation's provider gives a person. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Role } from "../protocol/catalogue/values.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { Actor } from "../store/audit-log.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { TenantChanges } from "../tenants/tenant-changes.ts"
import type { SsoEntry } from "../tenants/tenants.ts"
import { type Assigned, assignedBy, trustedDomain } from "./sso-claims.ts"

interface MemberRow {
  readonly id: string
  readonly role: Role
  readonly isDeclared: boolean
}

const TeamDocument = Schema.Struct({ members: Schema.Array(Schema.String) })
const isTeam = Schema.is(TeamDocument)

/** Attempts to write a team that others change at the same time. */
const attempts = 3

export const makeSsoPeople = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const changes = yield* TenantChanges
  const bounded = yield* queryDeadline

  const actorOf = ({ orgId }: SsoEntry): Actor => ({ type: "org", id: orgId })

  /** Logs a change that is refused, but lets the person log in. */
  const asFarAsPossible = (orgId: string, change: Effect.Effect<unknown, ServiceError | StoreUnavailable>) =>
    Effect.catchTag(Effect.asVoid(change), "ServiceError", ({ code, message }) =>
      Effect.logWarning("A login could not take over what its groups say", { org: orgId, code, reason: message }),
    )

  const setTeam = (
    entry: SsoEntry,
    team: string,
    member: string,
    belongs: boolean,
    left = attempts,
  ): Effect.Effect<void, StoreUnavailable> =>
    Effect.gen(function* () {
      const found = yield* changes.find("team", team)
      const document = found?.document
      if (found === undefined || !isTeam(document) || document["org"] !== entry.orgId || found.status === "closed") {
        return yield* Effect.logWarning("A group names a team that the organisation does not have", {
          org: entry.orgId,
          team,
        })
      }
      if (found.declared || document.members.includes(member) === belongs) return
      const members = belongs ? [...document.members, member] : document.members.filter((id) => id !== member)
      const change = changes.change(
        { op: "update", kind: "team", id: team, revision: found.revision, value: { members }, within: entry.orgId },
        actorOf(entry),
      )
      const isStale = (error: ServiceError | StoreUnavailable) =>
        error._tag === "ServiceError" && error.detail !== undefined && "revision" in error.detail && left > 1
      yield* Effect.catchIf(change, isStale, () => setTeam(entry, team, member, belongs, left - 1)).pipe((done) =>
        asFarAsPossible(entry.orgId, done),
      )
    })

  const follow = Effect.fnUntraced(function* (
    entry: SsoEntry,
    { id, role, isDeclared }: MemberRow,
    assigned: Assigned,
  ) {
    if (assigned.role !== undefined && assigned.role !== role && !isDeclared) {
      const value = { role: assigned.role }
      const change = changes.change({ op: "update", kind: "user", id, value, within: entry.orgId }, actorOf(entry))
      yield* asFarAsPossible(entry.orgId, change)
    }
    for (const [team, belongs] of assigned.teams) yield* setTeam(entry, team, id, belongs)
  })

  return {
    /**
     * Whether the provider alone proves an address: its domain is the provider's, and no other provider's of another
     * organisation.
     */
    isProven: Effect.fnUntraced(function* ({ orgId, provider }: SsoEntry, email: string) {
      const domain = trustedDomain(provider, email)
      if (domain === undefined) return false
      const others = yield* bounded(sql`
        select from tenants where kind = 'org' and document ? 'sso' and id <> ${orgId} and status <> 'closed'
          and document -> 'sso' ->> 'issuer' <> ${provider.issuer}
          and document -> 'sso' -> 'trustDomains' ? ${domain} limit 1`)
      if (others.length === 0) return true
      yield* Effect.logWarning("Providers of two organisations are trusted for one domain: neither is believed", {
        org: orgId,
        domain,
      })
      return false
    }),
    /** Makes a member of a person whose address is proven. */
    create: ({ orgId, provider }: SsoEntry, email: string, groups: ReadonlyArray<string> | undefined) =>
      changes.change(
        {
          op: "create",
          kind: "user",
          value: { org: orgId, email, role: assignedBy(provider, groups ?? []).role ?? "member" },
        },
        { type: "org", id: orgId },
      ),
    /** Gives a member the role and the teams of their groups. People and teams that a file declares do not change. */
    followGroups: Effect.fnUntraced(function* (
      entry: SsoEntry,
      email: string,
      groups: ReadonlyArray<string> | undefined,
    ) {
      if (groups === undefined || entry.provider.groups === undefined) return
      const [member] = yield* bounded(sql<MemberRow>`
        select id, document ->> 'role' as role, is_declared as "isDeclared" from tenants
        where kind = 'user' and org_id = ${entry.orgId} and label = ${email} and status = 'active'`)
      if (member !== undefined) yield* follow(entry, member, assignedBy(entry.provider, groups))
    }),
  }
})
