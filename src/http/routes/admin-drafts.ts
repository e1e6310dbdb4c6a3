/** Admin routes for a catalogue's text before it is applied. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ResolveSecret } from "../../catalogue/secrets.ts"
import { Api } from "../../protocol/api.ts"
import { DraftRequest, type KnownVendors, OffersRequest } from "../../protocol/draft.ts"
import { Drafts } from "../../setup/drafts.ts"
import { knownVendors } from "../../setup/known-vendors.ts"
import { AuditLog } from "../../store/audit-log.ts"
import { catalogueRefused, makeForOperator, maxBodyBytes, operator } from "../operator.ts"
import { type Request, readJson } from "../request.ts"

/** A vendor of a text that is about to be called. The audit log tells, because no catalogue in force does. */
export const makeDraftVendor = Effect.gen(function* () {
  const drafts = yield* Drafts
  const auditLog = yield* AuditLog
  return Effect.fnUntraced(
    function* (text: string, id: string) {
      const snapshot = yield* drafts.vendor(text, id)
      const entry = snapshot.vendor(id)
      if (entry !== undefined) {
        const { baseUrl, credential } = entry.vendor
        yield* auditLog.write("vendor.tried", operator, {
          vendor: id,
          baseUrl,
          ...(credential !== undefined && { credential }),
        })
      }
      return snapshot
    },
    Effect.catchTag("CatalogueRefused", (refused) => Effect.fail(catalogueRefused(refused))),
  )
})

export const adminDraftRoutes = HttpApiBuilder.group(
  Api,
  "adminDrafts",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const drafts = yield* Drafts
    const draftOf = yield* makeDraftVendor
    const resolveSecret = yield* ResolveSecret

    const add = Effect.fn("admin.addToDraft")(
      function* (request: Request) {
        const { text, add } = yield* readJson(DraftRequest, request, maxBodyBytes)
        return yield* drafts.add(text, add)
      },
      Effect.catchTag("CatalogueRefused", (refused) => Effect.fail(catalogueRefused(refused))),
    )

    const offers = Effect.fn("admin.vendorOffers")(
      function* (request: Request, vendor: string) {
        const { text, ...asked } = yield* readJson(OffersRequest, request, maxBodyBytes)
        const snapshot = yield* draftOf(text, vendor)
        return yield* drafts.offers(vendor, snapshot, { text, ...asked })
      },
      Effect.catchTag("CatalogueRefused", (refused) => Effect.fail(catalogueRefused(refused))),
    )

    const known = () =>
      ({
        data: knownVendors.map(({ vendor: { id, dialect, profile, baseUrl }, variables }) => {
          const variable = variables.find((name) => resolveSecret(`env:${name}`) !== undefined)
          return {
            id,
            dialect,
            ...(profile !== undefined && { profile }),
            baseUrl,
            credential: `env:${variable ?? variables[0]}`,
            hasKey: variable !== undefined,
          }
        }),
      }) satisfies KnownVendors

    return handlers
      .handleRaw("addToDraft", ({ request }) => forOperator(request, add(request)))
      .handleRaw("knownVendors", ({ request }) => forOperator(request, Effect.sync(known)))
      .handleRaw("vendorOffers", ({ request, params }) => forOperator(request, offers(request, params.vendor)))
  }),
)
