/** Admin routes for a catalogue's text before it is applied. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { addressOf } from "../../catalogue/addresses.ts"
import { Api } from "../../protocol/api.ts"
import { DraftRequest, type KnownVendors, OffersRequest } from "../../protocol/control/draft.ts"
import { ResolveSecret } from "../../secrets.ts"
import { canBeCalled, knownToSetUp } from "../../setup/choose-vendors.ts"
import { Drafts } from "../../setup/drafts.ts"
import { knownVendors } from "../../setup/known-vendors.ts"
import { makeForOperator, maxCatalogueBytes, operator, refuseCatalogue } from "../operator.ts"
import { type Request, readJson } from "../request.ts"

export const adminDraftRoutes = HttpApiBuilder.group(
  Api,
  "adminDrafts",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const drafts = yield* Drafts
    const resolveSecret = yield* ResolveSecret

    const add = Effect.fn("admin.addToDraft")(function* (request: Request) {
      const { text, add } = yield* readJson(DraftRequest, request, maxCatalogueBytes)
      return yield* Effect.catchTag(drafts.add(text, add), "CatalogueRefused", refuseCatalogue)
    })

    const offers = Effect.fn("admin.vendorOffers")(function* (request: Request, vendor: string) {
      const asked = yield* readJson(OffersRequest, request, maxCatalogueBytes)
      return yield* Effect.catchTag(drafts.offers(vendor, asked, operator), "CatalogueRefused", refuseCatalogue)
    })

    const known = Effect.sync(() => {
      const found = knownVendors.map((each) => knownToSetUp(each, (name) => resolveSecret(`env:${name}`)))
      return {
        data: found.map((each) => {
          const { id, dialect, profile, credential, aws, google, azure } = each.entry
          return {
            id,
            dialect,
            ...(profile !== undefined && { profile }),
            baseUrl: addressOf(each.entry) ?? "",
            ...(credential !== undefined && { credential }),
            ...(aws !== undefined && { aws }),
            ...(google !== undefined && { google }),
            ...(azure !== undefined && { azure }),
            hasKey: canBeCalled(each),
          }
        }),
      } satisfies KnownVendors
    })

    return handlers
      .handleRaw("addToDraft", ({ request }) => forOperator(request, add(request)))
      .handleRaw("knownVendors", ({ request }) => forOperator(request, known))
      .handleRaw("vendorOffers", ({ request, params }) => forOperator(request, offers(request, params.vendor)))
  }),
)
