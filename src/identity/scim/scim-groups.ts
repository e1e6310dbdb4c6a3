/**
 * Groups of an organisation's directory: teams, or groups that give a role.
 *
 * **Details**: `groups` of the organisation's provider says what a group of a name, or of an `externalId`, is: a role, or a team that
 * exists. All others are teams of their own.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { Role } from "../../protocol/catalogue/values.ts"
import { ScimProblem } from "../../protocol/scim/problem.ts"
import { isList, isObject } from "../../protocol/scim/schema.ts"
import { hasUnseen } from "../../protocol/values/text.ts"
import { mintSecret } from "../../secrets.ts"
import { TenantChanges } from "../../tenants/tenant-changes.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { groupAttributes, groupJson, type StoredGroup } from "./resource-json.ts"
import { makeScimRows } from "./scim-rows.ts"
import type { ScimCaller } from "./scim-tokens.ts"
import {
  absent,
  actorOf,
  again,
  type Change,
  type IfMatch,
  makeFollowRoles,
  type RoleGroup,
  requireMayOwn,
  requireVersion,
  type ScimFailure,
  type ScimResources,
  Stale,
  staleOrError,
  taken,
  unwrap,
} from "./scim-writes.ts"

export class ScimGroups extends Context.Service<ScimGroups, ScimResources<StoredGroup>>()("weir/identity/ScimGroups") {
  static readonly layer = Layer.effect(
    ScimGroups,
    Effect.gen(function* () {
      const rows = yield* makeScimRows
      const changes = yield* TenantChanges
      const tenants = yield* Tenants
      const followRoles = makeFollowRoles(rows, changes)

      const find = (orgId: string, id: string) =>
        Effect.map(rows.groups(orgId, { id }, { limit: 1 }, true), ([group]) => group)

      const known = Effect.fnUntraced(function* (orgId: string, id: string) {
        return (yield* find(orgId, id)) ?? (yield* absent("group"))
      })

      /** The role or the team's id that the provider's mapping gives a group. */
      const givenBy = Effect.fnUntraced(function* (orgId: string, attributes: Schema.JsonObject) {
        const groups = (yield* tenants.org(orgId))?.org.sso?.groups ?? {}
        const names = [attributes["externalId"], attributes["displayName"]]
        const name = names.find((name) => typeof name === "string" && Object.hasOwn(groups, name))
        return typeof name === "string" ? groups[name] : undefined
      })

      /** The members after a change; each that is added is a person of the organisation. */
      const membersOf = Effect.fnUntraced(function* (
        orgId: string,
        attributes: Schema.JsonObject,
        before: ReadonlyArray<string> = [],
      ) {
        const sent = attributes["members"]
        const ids = [...new Set(isList(sent) ? sent.flatMap(memberId) : [])]
        const known = new Set(before)
        const added = ids.filter((id) => !known.has(id))
        const [unknown] = added.length === 0 ? [] : yield* rows.unknownMembers(orgId, added)
        if (unknown !== undefined) {
          return yield* invalid(`members: "${unknown.slice(0, 64)}" is no person of the organisation`)
        }
        return ids
      })

      const requireFreeName = Effect.fnUntraced(function* (orgId: string, name: string, id?: string) {
        const same = yield* rows.groups(orgId, { name }, { limit: 2 }, false)
        if (same.some((group) => group.id !== id)) return yield* taken("Another group has this name")
      })

      /**
       * Writes a group that gives a role. Its people have their roles first: a refused role leaves the group as it was, and a request
       * that is sent again after a crash still finds the change. They are compared again with all groups that are stored then.
       */
      const writeRoleGroup = <A, E>(
        caller: ScimCaller,
        next: RoleGroup,
        changedMembers: ReadonlyArray<string>,
        write: Effect.Effect<A, E>,
      ): Effect.Effect<A, E | ScimFailure> =>
        followRoles(caller, changedMembers, next).pipe(
          Effect.andThen(write),
          Effect.tap(() => followRoles(caller, changedMembers)),
        )

      const createRoleGroup = Effect.fnUntraced(function* (
        caller: ScimCaller,
        role: Role,
        attributes: Schema.JsonObject,
        members: ReadonlyArray<string>,
      ) {
        yield* requireMayOwn(caller, [role])
        const id = mintSecret("grp").slice(0, 20)
        const stored = rows.store("group", caller.orgId, id, "0", keptOf(attributes), { role, members, isMapped: true })
        yield* writeRoleGroup(caller, { id, role, members }, members, stored)
        return id
      })

      /** A team that the provider names becomes the directory's. */
      const adopt = Effect.fnUntraced(function* (
        caller: ScimCaller,
        id: string,
        attributes: Schema.JsonObject,
        members: ReadonlyArray<string>,
      ): Effect.fn.Return<string, ScimFailure | Stale> {
        const team = yield* find(caller.orgId, id)
        if (team === undefined) return yield* invalid("The organisation's provider names a team that does not exist")
        if (team.isMapped) return yield* taken("Another group is this team")
        yield* setMembers(caller, team, members)
        yield* rows.store("group", caller.orgId, id, team.scimRevision, keptOf(attributes), { isMapped: true })
        return id
      })

      const setMembers = (
        caller: ScimCaller,
        { id, revision }: StoredGroup,
        members: ReadonlyArray<string>,
        name?: string,
      ) =>
        Effect.mapError(
          changes.change(
            {
              op: "update",
              kind: "team",
              id,
              revision,
              value: { members, ...(name !== undefined && { name }) },
              within: caller.orgId,
            },
            actorOf(caller),
          ),
          staleOrError,
        )

      const create = Effect.fnUntraced(function* (
        caller: ScimCaller,
        attributes: Schema.JsonObject,
      ): Effect.fn.Return<StoredGroup, ScimFailure | Stale> {
        const { orgId } = caller
        const name = yield* nameOf(attributes)
        const given = yield* givenBy(orgId, attributes)
        const isRole = Schema.is(Role)(given)
        yield* requireFreeName(orgId, name, isRole ? undefined : given)
        const members = yield* membersOf(orgId, attributes)
        if (isRole) return yield* known(orgId, yield* createRoleGroup(caller, given, attributes, members))
        if (given !== undefined) return yield* known(orgId, yield* adopt(caller, given, attributes, members))
        const made = yield* changes.change(
          { op: "create", kind: "team", value: { org: orgId, name, members }, within: orgId },
          actorOf(caller),
        )
        yield* rows.store("group", orgId, made.id, "0", keptOf(attributes))
        return yield* known(orgId, made.id)
      })

      const attempt = Effect.fnUntraced(function* (
        caller: ScimCaller,
        id: string,
        ifMatch: IfMatch,
        change: Change,
      ): Effect.fn.Return<StoredGroup, ScimFailure | Stale> {
        const { orgId } = caller
        const group = yield* known(orgId, id)
        yield* requireVersion(ifMatch, groupJson(group, ""))
        const next = yield* unwrap(change(groupAttributes(group)))
        const name = yield* nameOf(next)
        const isRenamed = name !== group.displayName
        if (isRenamed) yield* requireFreeName(orgId, name, id)
        const members = yield* membersOf(orgId, next, group.members)
        const changedMembers = difference(group.members, members)
        if (group.role !== undefined && changedMembers.length > 0) yield* requireMayOwn(caller, [group.role])
        const renames = isRenamed && !group.isMapped
        if (group.role === undefined && (changedMembers.length > 0 || renames)) {
          yield* setMembers(caller, group, members, renames ? name : undefined)
        }
        const { role } = group
        const more = role === undefined ? {} : { role, members }
        const stored = Effect.filterOrFail(
          rows.store("group", orgId, id, group.scimRevision, keptOf(next), more),
          (isStored) => isStored,
          () => new Stale(),
        )
        yield* role === undefined ? stored : writeRoleGroup(caller, { id, role, members }, changedMembers, stored)
        return yield* known(orgId, id)
      })

      const remove = Effect.fnUntraced(function* (
        caller: ScimCaller,
        id: string,
        ifMatch: IfMatch,
      ): Effect.fn.Return<void, ScimFailure | Stale> {
        const { orgId } = caller
        const group = yield* known(orgId, id)
        yield* requireVersion(ifMatch, groupJson(group, ""))
        const { members, role } = group
        if (role !== undefined && members.length > 0) yield* requireMayOwn(caller, [role])
        if (role === undefined && !group.isMapped) {
          yield* changes.change({ op: "delete", kind: "team", id, within: orgId }, actorOf(caller))
        } else if (role === undefined && members.length > 0) yield* setMembers(caller, group, [])
        const forgotten = rows.forget("group", orgId, id)
        yield* role === undefined ? forgotten : writeRoleGroup(caller, { id, role, members: [] }, members, forgotten)
      })

      return ScimGroups.of({
        find,
        list: rows.groups,
        count: (orgId) => rows.count(orgId, "group"),
        create: (caller, attributes) => again(undefined, create(caller, attributes)),
        change: (caller, id, ifMatch, change) => again(ifMatch, attempt(caller, id, ifMatch, change)),
        remove: (caller, id, ifMatch) => again(ifMatch, remove(caller, id, ifMatch)),
      })
    }),
  )
}

const memberId = (member: Schema.Json): ReadonlyArray<string> =>
  isObject(member) && typeof member["value"] === "string" ? [member["value"]] : []

/** The ids that only one of two lists has. */
const difference = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [known, wanted] = [new Set(before), new Set(after)]
  return [...known.symmetricDifference(wanted)]
}

/** The attributes that are stored: members are in the team's row, or in a column of their own. */
const keptOf = ({ members: _, ...attributes }: Schema.JsonObject): Schema.JsonObject => attributes

const maxName = 128

const nameOf = (attributes: Schema.JsonObject): Effect.Effect<string, ScimProblem> => {
  const name = attributes["displayName"]
  return typeof name === "string" && name.trim() !== "" && name.length <= maxName && !hasUnseen(name)
    ? Effect.succeed(name)
    : Effect.fail(invalid(`displayName must have 1 to ${maxName} visible characters`))
}

const invalid = (detail: string): ScimProblem => new ScimProblem({ status: 400, scimType: "invalidValue", detail })
