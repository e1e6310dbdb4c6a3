/** Admin routes of clients' files. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { OperatorsFiles } from "../../client-files/operators-files.ts"
import { Api } from "../../protocol/api.ts"
import type { ErasedFiles } from "../../protocol/control/client-file.ts"
import type { OwnerFilter } from "../../protocol/control/owner.ts"
import { serviceError } from "../../protocol/error.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { knownOrg, makeForOperator, operator } from "../operator.ts"
import { knownOwner, meantOf, ownerFilterOf } from "../owner-filter.ts"
import { type PageQuery, pageOf } from "../page-query.ts"

export const adminFileRoutes = HttpApiBuilder.group(
  Api,
  "adminFiles",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const files = yield* OperatorsFiles
    const tenants = yield* Tenants

    const known = (org: string, filter: OwnerFilter) =>
      knownOwner(tenants, org, filter, (app) =>
        Effect.map(files.list(org, { app }, { limit: 1, cursor: undefined }), ({ data }) => data.length > 0),
      )
    const list = Effect.fnUntraced(function* (org: string, query: PageQuery & OwnerFilter) {
      const page = yield* pageOf(query)
      const filter = yield* ownerFilterOf(query)
      yield* known(org, filter)
      return yield* files.list(org, filter, page)
    })
    const erase = Effect.fn("admin.eraseFiles")(function* (
      org: string,
      query: OwnerFilter & { readonly all?: string },
    ) {
      const filter = yield* meantOf(query)
      yield* known(org, filter)
      return { erased: yield* files.erase(org, filter, operator) } satisfies ErasedFiles
    })
    const eraseOne = Effect.fn("admin.eraseFile")(function* (org: string, id: string) {
      yield* knownOrg(tenants, org)
      const erased = yield* files.erase(org, { id }, operator)
      if (erased === 0) return yield* serviceError("not_found", "There is no such file")
      return { erased } satisfies ErasedFiles
    })

    return handlers
      .handleRaw("listFiles", ({ request, params, query }) => forOperator(request, list(params.org, query)))
      .handleRaw("eraseFiles", ({ request, params, query }) => forOperator(request, erase(params.org, query)))
      .handleRaw("eraseFile", ({ request, params }) => forOperator(request, eraseOne(params.org, params.id)))
  }),
)
