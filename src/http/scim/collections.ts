/** People and groups as collections that the SCIM routes list and change. */
import { Effect, type Schema } from "effect"
import { groupJson, userJson } from "../../identity/scim/resource-json.ts"
import { ScimGroups } from "../../identity/scim/scim-groups.ts"
import type { ScimCaller } from "../../identity/scim/scim-tokens.ts"
import { ScimUsers } from "../../identity/scim/scim-users.ts"
import type { Change, IfMatch, ScimFailure } from "../../identity/scim/scim-writes.ts"
import { groupKind, type ResourceKind, userKind } from "../../protocol/scim/schema.ts"
import { type Listed, type ListQuery, listOf } from "./listing.ts"

type Reply = Effect.Effect<Schema.JsonObject, ScimFailure>

/** The requests of a directory for the resources of one kind. */
export interface Resources {
  readonly kind: ResourceKind
  readonly list: (query: ListQuery) => Effect.Effect<Listed, ScimFailure>
  readonly find: (id: string) => Effect.Effect<Schema.JsonObject | undefined, ScimFailure>
  readonly create: (attributes: Schema.JsonObject) => Reply
  readonly change: (id: string, ifMatch: IfMatch, change: Change) => Reply
  readonly remove: (id: string, ifMatch: IfMatch) => Effect.Effect<void, ScimFailure>
}

/** @param base the address of the SCIM routes, for locations */
export const makeCollections = Effect.gen(function* () {
  const users = yield* ScimUsers
  const groups = yield* ScimGroups

  const ofUsers = (caller: ScimCaller, base: string): Resources => {
    const { orgId } = caller
    const json = (user: Parameters<typeof userJson>[0]) => userJson(user, base)
    return {
      kind: userKind,
      list: (query) =>
        listOf(
          {
            kind: userKind,
            nameAttribute: "userName",
            costly: "groups",
            list: (by, span, withGroups) => users.list(orgId, by, span, withGroups),
            count: users.count(orgId),
            json,
          },
          query,
        ),
      find: (id) => Effect.map(users.find(orgId, id), (user) => user && json(user)),
      create: (attributes) => Effect.map(users.create(caller, attributes), json),
      change: (id, ifMatch, change) => Effect.map(users.change(caller, id, ifMatch, change), json),
      remove: (id, ifMatch) => users.remove(caller, id, ifMatch),
    }
  }

  const ofGroups = (caller: ScimCaller, base: string): Resources => {
    const { orgId } = caller
    const json = (group: Parameters<typeof groupJson>[0]) => groupJson(group, base)
    return {
      kind: groupKind,
      list: (query) =>
        listOf(
          {
            kind: groupKind,
            nameAttribute: "displayName",
            costly: "members",
            list: (by, span, withMembers) => groups.list(orgId, by, span, withMembers),
            count: groups.count(orgId),
            json,
          },
          query,
        ),
      find: (id) => Effect.map(groups.find(orgId, id), (group) => group && json(group)),
      create: (attributes) => Effect.map(groups.create(caller, attributes), json),
      change: (id, ifMatch, change) => Effect.map(groups.change(caller, id, ifMatch, change), json),
      remove: (id, ifMatch) => groups.remove(caller, id, ifMatch),
    }
  }

  return { "/Users": ofUsers, "/Groups": ofGroups } as const
})
