/** People and groups as collections that the SCIM routes list and change. */
import { Effect, type Schema } from "effect"
import { groupJson, userJson } from "../../identity/scim/resource-json.ts"
import { ScimGroups } from "../../identity/scim/scim-groups.ts"
import type { ScimCaller } from "../../identity/scim/scim-tokens.ts"
import { ScimUsers } from "../../identity/scim/scim-users.ts"
import type { Change, IfMatch, ScimFailure, ScimResources } from "../../identity/scim/scim-writes.ts"
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

/** The differences between people and groups in a list. */
interface Form<Stored> {
  readonly kind: ResourceKind
  readonly nameAttribute: "userName" | "displayName"
  /** The attribute that takes another question to the database. */
  readonly costly: "groups" | "members"
  readonly json: (stored: Stored, base: string) => Schema.JsonObject
}

/** @returns the collection for a directory; `base` is the address of the SCIM routes, for locations */
const collectionOf =
  <Stored extends { readonly id: string }>(stored: ScimResources<Stored>, { json: jsonOf, ...form }: Form<Stored>) =>
  (caller: ScimCaller, base: string): Resources => {
    const { orgId } = caller
    const json = (each: Stored) => jsonOf(each, base)
    return {
      kind: form.kind,
      list: (query) =>
        listOf(
          {
            ...form,
            list: (by, span, withLinks) => stored.list(orgId, by, span, withLinks),
            count: stored.count(orgId),
            json,
          },
          query,
        ),
      find: (id) => Effect.map(stored.find(orgId, id), (found) => found && json(found)),
      create: (attributes) => Effect.map(stored.create(caller, attributes), json),
      change: (id, ifMatch, change) => Effect.map(stored.change(caller, id, ifMatch, change), json),
      remove: (id, ifMatch) => stored.remove(caller, id, ifMatch),
    }
  }

export const makeCollections = Effect.gen(function* () {
  return {
    "/Users": collectionOf(yield* ScimUsers, {
      kind: userKind,
      nameAttribute: "userName",
      costly: "groups",
      json: userJson,
    }),
    "/Groups": collectionOf(yield* ScimGroups, {
      kind: groupKind,
      nameAttribute: "displayName",
      costly: "members",
      json: groupJson,
    }),
  } as const
})
