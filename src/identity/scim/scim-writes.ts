/** The common parts of changes of people and groups by a directory. */
import { Effect, type Schema } from "effect"
import type { Role } from "../../protocol/catalogue/values.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { type Checked, ScimProblem } from "../../protocol/scim/problem.ts"
import type { Actor } from "../../store/audit-log.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { TenantChanges } from "../../tenants/tenant-changes.ts"
import type { makeScimRows, Narrowing, Span } from "./scim-rows.ts"
import type { ScimCaller } from "./scim-tokens.ts"
import { highestRole, sentRole } from "./sent-roles.ts"

export type ScimFailure = ScimProblem | ServiceError | StoreUnavailable

/** The attributes after a change, of those before it. */
export type Change = (attributes: Schema.JsonObject) => Checked<Schema.JsonObject>

/** A precondition on the version before a change; undefined if there is none. */
export type IfMatch = ((version: string) => boolean) | undefined

/** People or groups of organisations, as their directories read and change them. */
export interface ScimResources<Stored> {
  readonly find: (orgId: string, id: string) => Effect.Effect<Stored | undefined, StoreUnavailable>
  /** @param withLinks whether people have their groups, and groups their members */
  readonly list: (
    orgId: string,
    by: Narrowing,
    span: Span,
    withLinks: boolean,
  ) => Effect.Effect<ReadonlyArray<Stored>, StoreUnavailable>
  readonly count: (orgId: string) => Effect.Effect<number, StoreUnavailable>
  readonly create: (caller: ScimCaller, attributes: Schema.JsonObject) => Effect.Effect<Stored, ScimFailure>
  readonly change: (
    caller: ScimCaller,
    id: string,
    ifMatch: IfMatch,
    change: Change,
  ) => Effect.Effect<Stored, ScimFailure>
  readonly remove: (caller: ScimCaller, id: string, ifMatch: IfMatch) => Effect.Effect<void, ScimFailure>
}

export const actorOf = ({ orgId }: ScimCaller): Actor => ({ type: "org", id: orgId })

export const unwrap = <A>(checked: Checked<A>): Effect.Effect<A, ScimProblem> => Effect.fromResult(checked)

export const taken = (detail: string): ScimProblem => new ScimProblem({ status: 409, scimType: "uniqueness", detail })

export const absent = (name: string): ScimProblem =>
  new ScimProblem({ status: 404, detail: `The ${name} does not exist` })

const changed = new ScimProblem({ status: 412, detail: "The resource has changed" })

/** Fails unless the version is one that the client names. */
export const requireVersion = (ifMatch: IfMatch, resource: Schema.JsonObject): Effect.Effect<void, ScimProblem> =>
  ifMatch === undefined || ifMatch(versionIn(resource)) ? Effect.void : Effect.fail(changed)

export const versionIn = (resource: Schema.JsonObject): string => {
  const meta = resource["meta"]
  return meta !== null && typeof meta === "object" && "version" in meta ? String(meta.version) : ""
}

/** Attempts at a change that others make at the same time. */
const attempts = 5

/** Makes a change again if the resource changed between reading and writing it, unless the client named a version. */
export const again = <A>(
  ifMatch: IfMatch,
  attempt: Effect.Effect<A, ScimFailure | Stale>,
): Effect.Effect<A, ScimFailure> =>
  attempt.pipe(
    Effect.retry({ times: ifMatch === undefined ? attempts - 1 : 0, while: isStale }),
    Effect.mapError((error) => (isStale(error) ? (ifMatch === undefined ? busy : changed) : error)),
  )

/** A resource that changed since it was read. */
export class Stale {
  readonly _tag = "Stale"
}

const isStale = (error: ScimFailure | Stale): error is Stale => error._tag === "Stale"

const busy = serviceError("conflict", "Others change it at the same time")

/** A tenant's revision that is no longer the one that was read. */
export const staleOrError = (error: ServiceError | StoreUnavailable): ServiceError | StoreUnavailable | Stale =>
  error._tag === "ServiceError" && error.detail !== undefined && "revision" in error.detail ? new Stale() : error

/** Refuses changes of owners by a token that an admin made. */
export const requireMayOwn = ({ mayOwn }: ScimCaller, roles: ReadonlyArray<Role>): Effect.Effect<void, ServiceError> =>
  mayOwn || !roles.includes("owner")
    ? Effect.void
    : Effect.fail(serviceError("forbidden", "Owners change only with a token that an owner or operator made"))

/** The people of one change of roles: one statement. */
const batchSize = 500

/** A group that gives a role, as it will be. */
export interface RoleGroup {
  readonly id: string
  readonly role: Role
  readonly members: ReadonlyArray<string>
}

/**
 * Gives people the highest of the roles that their directory and its groups say: member, if none.
 * @param next a group as it will be; without it, all groups count as they are stored
 */
export const makeFollowRoles = (rows: Effect.Success<typeof makeScimRows>, changes: TenantChanges["Service"]) =>
  Effect.fnUntraced(function* (
    caller: ScimCaller,
    ids: ReadonlyArray<string>,
    next?: RoleGroup,
  ): Effect.fn.Return<void, ScimFailure> {
    const nextMembers = new Set(next?.members)
    for (let from = 0; from < ids.length; from += batchSize) {
      const people = yield* rows.rolesOf(caller.orgId, ids.slice(from, from + batchSize), next?.id)
      const wanted = people.flatMap(({ id, role, isDeclared, roles, given }) => {
        const ofNext = next !== undefined && nextMembers.has(id) ? [next.role] : []
        const highest = highestRole([...given, ...ofNext, sentRole(roles ?? undefined) ?? "member"]) ?? "member"
        return highest === role || isDeclared ? [] : [{ id, role, next: highest }]
      })
      yield* requireMayOwn(
        caller,
        wanted.flatMap(({ role, next }) => [role, next]),
      )
      if (wanted.length === 0) continue
      const items = wanted.map(({ id, next }) => ({ op: "update", kind: "user", id, value: { role: next } }) as const)
      const { data } = yield* changes.batch(items, actorOf(caller), undefined)
      for (const answer of data) {
        // Somebody who has left meanwhile has no role.
        if ("error" in answer && answer.error.code !== "not_found") {
          return yield* serviceError(answer.error.code, answer.error.message)
        }
      }
    }
  })
