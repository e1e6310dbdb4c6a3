/** Admin routes for organisations, teams, members and applications. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../protocol/api.ts"
import { BatchKey, batchSize, type TenantKind } from "../../protocol/control/tenants.ts"
import { serviceError } from "../../protocol/error.ts"
import { Directory } from "../../tenants/directory.ts"
import { inTurns } from "../../tenants/in-turns.ts"
import { TenantChanges } from "../../tenants/tenant-changes.ts"
import { makeForOperator, maxCatalogueBytes, operator } from "../operator.ts"
import { type ListQuery, searchOf } from "../page-query.ts"
import { decodeBody, headerOf, type Request, readContent } from "../request.ts"
import { routeNotFound } from "../respond.ts"
import { decodeItem, readChange, recordOf, targetOf } from "../tenant-request.ts"

const nouns: Readonly<Record<TenantKind, string>> = {
  org: "organisation",
  team: "team",
  user: "member",
  app: "application",
}

export const adminTenantRoutes = HttpApiBuilder.group(
  Api,
  "adminTenants",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const tenants = yield* TenantChanges
    const directory = yield* Directory

    const write = (request: Request, op: "create" | "update", kind: TenantKind, id?: string) =>
      forOperator(
        request,
        Effect.flatMap(readChange(request, op, kind, id), (change) =>
          Effect.map(tenants.change(change, operator), recordOf),
        ),
      )

    const read = (request: Request, kind: TenantKind, id: string) =>
      forOperator(
        request,
        Effect.flatMap(tenants.find(kind, id), (found) =>
          found === undefined
            ? Effect.fail(serviceError("not_found", `The ${nouns[kind]} does not exist`))
            : Effect.succeed(recordOf(found)),
        ),
      )

    const list = (request: Request, kind: TenantKind, query: ListQuery) =>
      forOperator(
        request,
        Effect.map(
          Effect.flatMap(searchOf(query), (search) => directory.list(kind, search)),
          ({ data, nextCursor }) => ({ data: data.map(recordOf), nextCursor }),
        ),
      )

    const remove = (request: Request, kind: TenantKind, id: string) =>
      forOperator(
        request,
        Effect.flatMap(targetOf(request, id), (target) =>
          Effect.asVoid(tenants.change({ op: "delete", kind, ...target }, operator)),
        ),
      )

    const batch = Effect.fnUntraced(function* (request: Request) {
      // The router takes the text after the colon for a parameter.
      if (!/\/tenants:batch(\?|$)/u.test(request.url)) return yield* routeNotFound
      const key = yield* headerOf("idempotency-key", BatchKey, request)
      const body = yield* readContent(request, maxCatalogueBytes)
      const { items } = yield* decodeBody(AnyBatch, body)
      const changes = yield* inTurns(items, (item) => Effect.catch(decodeItem(item), Effect.succeed))
      const payloadSha256 = createHash("sha256").update(body).digest()
      return yield* tenants.batch(changes, operator, key === undefined ? undefined : { key, payloadSha256 })
    })

    return handlers
      .handleRaw("createOrg", ({ request }) => write(request, "create", "org"))
      .handleRaw("readOrg", ({ request, params }) => read(request, "org", params.id))
      .handleRaw("updateOrg", ({ request, params }) => write(request, "update", "org", params.id))
      .handleRaw("deleteOrg", ({ request, params }) => remove(request, "org", params.id))
      .handleRaw("listTeams", ({ request, query }) => list(request, "team", query))
      .handleRaw("createTeam", ({ request }) => write(request, "create", "team"))
      .handleRaw("readTeam", ({ request, params }) => read(request, "team", params.id))
      .handleRaw("updateTeam", ({ request, params }) => write(request, "update", "team", params.id))
      .handleRaw("deleteTeam", ({ request, params }) => remove(request, "team", params.id))
      .handleRaw("listMembers", ({ request, query }) => list(request, "user", query))
      .handleRaw("createMember", ({ request }) => write(request, "create", "user"))
      .handleRaw("readMember", ({ request, params }) => read(request, "user", params.id))
      .handleRaw("updateMember", ({ request, params }) => write(request, "update", "user", params.id))
      .handleRaw("deleteMember", ({ request, params }) => remove(request, "user", params.id))
      .handleRaw("listApps", ({ request, query }) => list(request, "app", query))
      .handleRaw("createApp", ({ request }) => write(request, "create", "app"))
      .handleRaw("readApp", ({ request, params }) => read(request, "app", params.id))
      .handleRaw("updateApp", ({ request, params }) => write(request, "update", "app", params.id))
      .handleRaw("deleteApp", ({ request, params }) => remove(request, "app", params.id))
      .handleRaw("tenantBatch", ({ request }) => forOperator(request, batch(request)))
  }),
)

/** A batch, whose items are checked one by one. */
const AnyBatch = Schema.Struct({ items: Schema.Array(Schema.Unknown).check(...batchSize) })
