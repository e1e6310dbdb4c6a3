/** Routes of layered settings: preview, one layer, revisions. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { Accounts } from "../../identity/accounts.ts"
import type { Principal } from "../../identity/bearers.ts"
import { Api } from "../../protocol/api.ts"
import { type SettingScope, type SettingsPreview, SettingWrite } from "../../protocol/control/settings.ts"
import { serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { hasPaths, isKeyPath, leavesOf, undeliverable } from "../../settings/key-paths.ts"
import { merge } from "../../settings/merge.ts"
import { type LayerId, platform, Settings, type WriteRequest } from "../../settings/settings.ts"
import { asPattern, memberViewpoint, orgViewpoint, ownViewpoint, viewpointAs } from "../../settings/viewpoint.ts"
import { People } from "../../tenants/people.ts"
import { makeForBearer, requireAdmin } from "../bearer.ts"
import { makeOperatorCheck, operator } from "../operator.ts"
import { ifMatchOf, type Request, readJson } from "../request.ts"
import { type RouteError, respondJson } from "../respond.ts"

const maxValueBytes = 16 * 1024

/** A layer that the caller may write, and the layers above it. */
type Governed = Pick<WriteRequest, "layer" | "above" | "orgId" | "actor">

export const settingRoutes = HttpApiBuilder.group(
  Api,
  "settings",
  Effect.fn(function* (handlers) {
    const { forPrincipal, forMember, principalOf, memberIn } = yield* makeForBearer
    const settings = yield* Settings
    const accounts = yield* Accounts
    const catalogue = yield* Catalogue
    const people = yield* People
    const checkOperator = yield* makeOperatorCheck

    const deliverable = () => catalogue.current().document.deliverableSettings ?? []

    const viewpointOf = Effect.fnUntraced(function* (request: Request, principal: Principal, as: string | undefined) {
      if (as !== undefined && !asPattern.test(as)) {
        return yield* invalidInput([{ path: "as", message: "org, team:ID or member:ID is required" }])
      }
      const { person } = principal
      const hasOrg = person === undefined || request.headers["x-svc-org"] !== undefined
      if (!hasOrg) {
        if (as === undefined) return ownViewpoint(person.id)
        return yield* serviceError("bad_request", "x-svc-org is required for another viewpoint")
      }
      const member = yield* memberIn(request, principal)
      if (as === undefined) {
        return person === undefined ? orgViewpoint(member.org.org.id) : memberViewpoint(person.id, member)
      }
      yield* requireAdmin(member)
      const personOf = (email: string) => Effect.map(accounts.byEmail(email), (account) => account?.id)
      return yield* viewpointAs(people, member.org.org.id, as, personOf)
    })

    const preview = Effect.fnUntraced(function* (request: Request, principal: Principal, as: string | undefined) {
      const { layers, view } = yield* viewpointOf(request, principal, as)
      const effective = merge(yield* settings.read(layers))
      const allowed = deliverable()
      return {
        settings: effective,
        view: {
          ...view,
          scopes: [...new Set(layers.map(({ scope }) => scope))],
          ignoredByClient: Object.keys(effective.origins).filter((path) => undeliverable(path, allowed) !== undefined),
        },
      } satisfies SettingsPreview
    })

    /** The layer that a request names, if the caller may access it. */
    const governed = Effect.fnUntraced(function* (
      request: Request,
      scope: string,
      teamId: string | undefined,
    ): Effect.fn.Return<Governed, RouteError> {
      if (scope === "platform") {
        yield* checkOperator(request)
        return { layer: platform, above: [], orgId: undefined, actor: operator }
      }
      if (!isScope(scope)) {
        return yield* invalidInput([{ path: "scope", message: "platform, org, team or user is required" }])
      }
      const principal = yield* principalOf(request)
      const { person } = principal
      const inOrg = request.headers["x-svc-org"] !== undefined || scope !== "user" || person === undefined
      const member = inOrg ? yield* memberIn(request, principal) : undefined
      const orgId = member?.org.org.id
      const org: LayerId = { scope: "org", subject: orgId ?? "" }
      const actor =
        person === undefined ? { type: "org" as const, id: orgId ?? "" } : { type: "user" as const, id: person.id }
      if (scope === "user") {
        if (person === undefined)
          return yield* serviceError("forbidden", "An organisation's token has no user settings")
        const teams = (member?.teams ?? []).map((id): LayerId => ({ scope: "team", subject: id }))
        const above = member === undefined ? [platform] : [platform, org, ...teams]
        return { layer: { scope, subject: person.id }, above, orgId, actor }
      }
      if (member === undefined) return yield* serviceError("bad_request", "x-svc-org is required")
      yield* requireAdmin(member)
      if (scope === "org") return { layer: org, above: [platform], orgId, actor }
      if (teamId === undefined) return yield* invalidInput([{ path: "team", message: "the team's id is required" }])
      if (!(yield* people.has(member.org.org.id, "team", teamId)))
        return yield* serviceError("not_found", "The organisation, team or member does not exist")
      return { layer: { scope, subject: teamId }, above: [platform, org], orgId, actor }
    })

    const list = (request: Request, scope: string, team: string | undefined) =>
      Effect.flatMap(governed(request, scope, team), ({ layer }) =>
        Effect.map(settings.list(layer), (data) => ({ data })),
      )

    const set = Effect.fnUntraced(function* (
      request: Request,
      scope: string,
      keyPath: string,
      team: string | undefined,
    ) {
      const who = yield* governed(request, scope, team)
      const path = yield* keyPathOf(keyPath)
      const {
        value,
        lock = false,
        enforcement = "enforce",
        reason,
      } = yield* readJson(SettingWrite, request, maxValueBytes)
      if (!hasPaths(value))
        return yield* invalidInput([
          {
            path: "value",
            message: "member names must be valid in key paths; __proto__, constructor and prototype are reserved",
          },
        ])
      if (lock && scope === "user")
        return yield* invalidInput([{ path: "lock", message: "there is no layer below user" }])
      for (const [leaf] of leavesOf(path, value)) {
        const why = undeliverable(leaf, deliverable())
        if (why !== undefined) {
          return yield* serviceError("section_not_deliverable", "Clients do not consume this setting", {
            detail: { reason: why, keyPath: leaf },
          })
        }
      }
      const ifMatch = yield* ifMatchOf(request)
      return yield* settings.write({
        ...who,
        keyPath: path,
        write: { value, locked: lock, enforcement },
        reason,
        ifMatch,
      })
    })

    const remove = Effect.fnUntraced(function* (
      request: Request,
      scope: string,
      keyPath: string,
      { team, reason }: { readonly team?: string; readonly reason?: string },
    ) {
      const who = yield* governed(request, scope, team)
      const path = yield* keyPathOf(keyPath)
      const ifMatch = yield* ifMatchOf(request)
      yield* settings.write({ ...who, keyPath: path, reason, ifMatch })
    })

    const revisions = Effect.fnUntraced(function* (
      request: Request,
      { scope, keyPath, team }: { readonly scope?: string; readonly keyPath?: string; readonly team?: string },
    ) {
      if (scope === undefined || keyPath === undefined || scope === "platform") {
        const path = keyPath === undefined && scope !== undefined && scope !== "platform" ? "keyPath" : "scope"
        return yield* invalidInput([{ path, message: "scope (org, team or user) and keyPath are required" }])
      }
      const { layer } = yield* governed(request, scope, team)
      return { data: yield* settings.revisions(layer, yield* keyPathOf(keyPath)) }
    })

    const platformRevisions = Effect.fnUntraced(function* (request: Request, keyPath: string | undefined) {
      yield* checkOperator(request)
      return { data: yield* settings.revisions(platform, yield* keyPathOf(keyPath ?? "")) }
    })

    return handlers
      .handleRaw("effectiveSettings", ({ request, query }) =>
        forPrincipal(request, (principal) => preview(request, principal, query.as)),
      )
      .handleRaw("shadowReport", ({ request }) =>
        forMember(request, (member) =>
          Effect.andThen(
            requireAdmin(member),
            Effect.map(settings.shadowReport(member.org.org.id), (data) => ({ data })),
          ),
        ),
      )
      .handleRaw("configRevisions", ({ request, query }) => respondJson(revisions(request, query)))
      .handleRaw("platformRevisions", ({ request, query }) => respondJson(platformRevisions(request, query.keyPath)))
      .handleRaw("listSettings", ({ request, params, query }) => respondJson(list(request, params.scope, query.team)))
      .handleRaw("setSetting", ({ request, params, query }) =>
        respondJson(set(request, params.scope, params.keyPath, query.team)),
      )
      .handleRaw("deleteSetting", ({ request, params, query }) =>
        respondJson(remove(request, params.scope, params.keyPath, query)),
      )
  }),
)

const isScope = (scope: string): scope is Exclude<SettingScope, "platform"> => ["org", "team", "user"].includes(scope)

const keyPathOf = (keyPath: string) =>
  isKeyPath(keyPath)
    ? Effect.succeed(keyPath)
    : Effect.fail(
        invalidInput([
          {
            path: "keyPath",
            message:
              "one to sixteen names joined by points are required; __proto__, constructor and prototype are reserved",
          },
        ]),
      )
