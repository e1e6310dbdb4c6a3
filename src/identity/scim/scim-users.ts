/**
 * People as their organisation's directory sees and changes them.
 *
 * **Details**: a person is the member whose address is `userName`. A person who is made here counts as a member at once if the domain of the
 * address is proven to be the organisation's (`trustDomains` of its provider); others are invited and accept at their first login.
 *
 * **Gotchas**: `active: false` disables the membership, and not the account: another organisation may have it too.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { Email } from "../../protocol/control/login.ts"
import { serviceError } from "../../protocol/error.ts"
import { ScimProblem } from "../../protocol/scim/problem.ts"
import { normalEmail } from "../../protocol/values/text.ts"
import { ChangeFeed } from "../../store/change-feed.ts"
import { TenantChanges } from "../../tenants/tenant-changes.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { makeSsoPeople } from "../sso-people.ts"
import { type StoredUser, userAttributes, userJson } from "./resource-json.ts"
import { makeScimRows } from "./scim-rows.ts"
import type { ScimCaller } from "./scim-tokens.ts"
import {
  absent,
  actorOf,
  again,
  type Change,
  type IfMatch,
  makeFollowRoles,
  requireMayOwn,
  requireVersion,
  type ScimFailure,
  type ScimResources,
  Stale,
  staleOrError,
  taken,
  unwrap,
} from "./scim-writes.ts"
import { sentRole } from "./sent-roles.ts"

export class ScimUsers extends Context.Service<ScimUsers, ScimResources<StoredUser>>()("weir/identity/ScimUsers") {
  static readonly layer = Layer.effect(
    ScimUsers,
    Effect.gen(function* () {
      const rows = yield* makeScimRows
      const { sql, bounded } = rows
      const changes = yield* TenantChanges
      const tenants = yield* Tenants
      const feed = yield* ChangeFeed
      const ssoPeople = yield* makeSsoPeople
      const followRoles = makeFollowRoles(rows, changes)

      const find = (orgId: string, id: string) =>
        Effect.map(rows.users(orgId, { id }, { limit: 1 }, true), ([user]) => user)

      const known = Effect.fnUntraced(function* (orgId: string, id: string) {
        return (yield* find(orgId, id)) ?? (yield* absent("person"))
      })

      /** Whether the organisation's provider proves an address, so that no consent is needed. */
      const isProven = Effect.fnUntraced(function* (orgId: string, email: string) {
        const provider = (yield* tenants.org(orgId))?.org.sso
        if (provider === undefined) return false
        return yield* ssoPeople.isProven({ orgId, provider, clientSecret: undefined }, normalEmail(email))
      })

      const endCredentials = ({ orgId }: ScimCaller, { id, email }: Pick<StoredUser, "id" | "email">) =>
        Effect.asVoid(bounded(sql`select member_credentials_end(${orgId}, ${id}, ${email})`))

      const create = Effect.fnUntraced(function* (
        caller: ScimCaller,
        attributes: Schema.JsonObject,
      ): Effect.fn.Return<StoredUser, ScimFailure | Stale> {
        const { orgId } = caller
        const email = yield* addressOf(attributes)
        const role = sentRole(attributes["roles"]) ?? "member"
        yield* requireMayOwn(caller, [role])
        const within = (yield* isProven(orgId, email)) ? undefined : orgId
        const made = yield* changes
          .change({ op: "create", kind: "user", value: { org: orgId, email, role }, within }, actorOf(caller))
          .pipe(
            Effect.mapError((error) =>
              error._tag === "ServiceError" && error.code === "conflict" ? taken(error.message) : error,
            ),
          )
        if (attributes["active"] === false) yield* setStatus(caller, { id: made.id, revision: made.revision }, false)
        yield* rows.store("user", orgId, made.id, "0", keptOf(attributes))
        return yield* known(orgId, made.id)
      })

      const setStatus = (
        caller: ScimCaller,
        target: { readonly id: string; readonly revision: string },
        isActive: boolean,
      ) =>
        changes
          .change(
            {
              op: "update",
              kind: "user",
              ...target,
              value: { status: isActive ? "active" : "disabled" },
              within: caller.orgId,
            },
            actorOf(caller),
          )
          .pipe(Effect.mapError(staleOrError))

      const readdress = Effect.fnUntraced(function* (caller: ScimCaller, user: StoredUser, email: string) {
        const isInvited = !(yield* isProven(caller.orgId, email))
        const { type, id } = actorOf(caller)
        const [row] = yield* bounded(sql<{ outcome: string }>`
          select member_readdress(${caller.orgId}, ${user.id}, ${user.revision}::text::bigint, ${email}, ${isInvited}, ${type}, ${id})
            as outcome`)
        yield* feed.catchUp
        if (row?.outcome === "exists") return yield* taken("Another person has this address")
        if (row?.outcome === "declared") {
          return yield* serviceError("conflict", "The catalogue file declares the person; change it there")
        }
        if (row?.outcome === "stale") return yield* Effect.fail(new Stale())
        if (row?.outcome !== "updated") return yield* absent("person")
        yield* endCredentials(caller, user)
      })

      const attempt = Effect.fnUntraced(function* (
        caller: ScimCaller,
        id: string,
        ifMatch: IfMatch,
        change: Change,
      ): Effect.fn.Return<StoredUser, ScimFailure | Stale> {
        const { orgId } = caller
        const user = yield* known(orgId, id)
        yield* requireVersion(ifMatch, userJson(user, ""))
        const next = yield* unwrap(change(userAttributes(user)))
        const email = yield* addressOf(next)
        const isActive = next["active"] !== false
        const isMoved = normalEmail(email) !== normalEmail(user.email)
        const isSwitched = isActive !== user.isActive
        const hasNewRole = sentRole(next["roles"]) !== sentRole(user.attributes["roles"])
        if (isMoved || isSwitched) yield* requireMayOwn(caller, [user.role])
        if (hasNewRole) yield* requireMayOwn(caller, [user.role, sentRole(next["roles"]) ?? "member"])
        if (isMoved) yield* readdress(caller, user, email)
        if (isSwitched) {
          const { revision } = isMoved ? yield* known(orgId, id) : user
          yield* setStatus(caller, { id, revision }, isActive)
          if (!isActive) yield* endCredentials(caller, { id, email })
        }
        if (!(yield* rows.store("user", orgId, id, user.scimRevision, keptOf(next))))
          return yield* Effect.fail(new Stale())
        if (hasNewRole) yield* followRoles(caller, [id])
        return yield* known(orgId, id)
      })

      return ScimUsers.of({
        find,
        list: rows.users,
        count: (orgId) => rows.count(orgId, "user"),
        create: (caller, attributes) => again(undefined, create(caller, attributes)),
        change: (caller, id, ifMatch, change) => again(ifMatch, attempt(caller, id, ifMatch, change)),
        remove: Effect.fnUntraced(function* (caller, id, ifMatch) {
          const user = yield* known(caller.orgId, id)
          yield* requireVersion(ifMatch, userJson(user, ""))
          yield* requireMayOwn(caller, [user.role])
          yield* changes.change({ op: "delete", kind: "user", id, within: caller.orgId }, actorOf(caller))
          yield* endCredentials(caller, user)
          yield* rows.forget("user", caller.orgId, id)
        }),
      })
    }),
  )
}

/** The attributes that are stored: the rest is in the person's row. */
const keptOf = ({ active: _, ...attributes }: Schema.JsonObject): Schema.JsonObject => attributes

const addressOf = (attributes: Schema.JsonObject): Effect.Effect<string, ScimProblem> =>
  Option.match(decodeEmail(attributes["userName"]), { onNone: () => Effect.fail(noAddress), onSome: Effect.succeed })

const decodeEmail = Schema.decodeUnknownOption(Email)
const noAddress = new ScimProblem({
  status: 400,
  scimType: "invalidValue",
  detail: "userName must be the mail address with which the person logs in",
})
