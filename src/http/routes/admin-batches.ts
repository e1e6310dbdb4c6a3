/** Admin routes of clients' batches. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { OperatorsBatches } from "../../batches/operators-batches.ts"
import { Api } from "../../protocol/api.ts"
import type { OwnerFilter } from "../../protocol/control/owner.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { knownOrg, makeForOperator, operator } from "../operator.ts"
import { ownerFilterOf } from "../owner-filter.ts"
import { type PageQuery, pageOf } from "../page-query.ts"

export const adminBatchRoutes = HttpApiBuilder.group(
  Api,
  "adminBatches",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const batches = yield* OperatorsBatches
    const tenants = yield* Tenants

    const list = Effect.fnUntraced(function* (
      org: string,
      { open, ...query }: PageQuery & OwnerFilter & { readonly open?: "true" | "false" | undefined },
    ) {
      const page = yield* pageOf(query)
      const filter = yield* ownerFilterOf(query)
      yield* knownOrg(tenants, org)
      return yield* batches.list(org, { ...filter, isOpen: open === "true" }, page)
    })
    const cancel = Effect.fn("admin.cancelBatch")(function* (org: string, id: string) {
      yield* knownOrg(tenants, org)
      return yield* batches.cancel(org, id, operator)
    })

    return handlers
      .handleRaw("listBatches", ({ request, params, query }) => forOperator(request, list(params.org, query)))
      .handleRaw("cancelBatch", ({ request, params }) => forOperator(request, cancel(params.org, params.id)))
  }),
)
