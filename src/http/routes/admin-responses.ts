/** Admin routes of kept responses and conversations. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ResponseDirectory } from "../../kept-responses/response-directory.ts"
import { Api } from "../../protocol/api.ts"
import type { OwnerFilter } from "../../protocol/control/owner.ts"
import { serviceError } from "../../protocol/error.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { knownOrg, makeForOperator, operator } from "../operator.ts"
import { knownOwner, meantOf, ownerFilterOf } from "../owner-filter.ts"
import { type PageQuery, pageOf } from "../page-query.ts"

export const adminResponseRoutes = HttpApiBuilder.group(
  Api,
  "adminResponses",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const directory = yield* ResponseDirectory
    const tenants = yield* Tenants

    const list = Effect.fnUntraced(function* (org: string, query: PageQuery & OwnerFilter) {
      const page = yield* pageOf(query)
      const filter = yield* ownerFilterOf(query)
      yield* known(org, filter)
      return yield* directory.list(org, filter, page)
    })
    const known = (org: string, filter: OwnerFilter) =>
      knownOwner(tenants, org, filter, (app) =>
        Effect.map(directory.list(org, { app }, { limit: 1, cursor: undefined }), ({ data }) => data.length > 0),
      )
    const erase = Effect.fn("admin.eraseResponses")(function* (
      org: string,
      query: OwnerFilter & { readonly all?: string },
    ) {
      const filter = yield* meantOf(query)
      yield* known(org, filter)
      return yield* directory.erase(org, filter, operator)
    })
    const eraseOne = Effect.fn("admin.eraseResponse")(function* (org: string, id: string) {
      yield* knownOrg(tenants, org)
      const erased = yield* directory.erase(org, { id }, operator)
      if (erased.erased + erased.conversations > 0) return erased
      return yield* serviceError("not_found", "There is no such response or conversation")
    })

    return handlers
      .handleRaw("listResponses", ({ request, params, query }) => forOperator(request, list(params.org, query)))
      .handleRaw("eraseResponses", ({ request, params, query }) => forOperator(request, erase(params.org, query)))
      .handleRaw("eraseResponse", ({ request, params }) => forOperator(request, eraseOne(params.org, params.id)))
  }),
)
