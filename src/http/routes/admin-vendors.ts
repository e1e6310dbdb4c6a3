/** Admin routes for vendor checks and organisations' upstream keys. */
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { VendorCheck } from "../../kinds/vendor-check.ts"
import { UpstreamKeyRequest, type UpstreamKeysResponse, VendorCheckRequest } from "../../protocol/admin.ts"
import { Api } from "../../protocol/api.ts"
import { serviceError } from "../../protocol/error.ts"
import { Drafts } from "../../setup/drafts.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { UpstreamKeys } from "../../upstream/upstream-keys.ts"
import { knownOrg, makeForOperator, maxBodyBytes, operator, refuseCatalogue } from "../operator.ts"
import { type Request, readJson } from "../request.ts"

interface KeyPlace {
  readonly org: string
  readonly vendor: string
}

export const adminVendorRoutes = HttpApiBuilder.group(
  Api,
  "adminVendors",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const catalogue = yield* Catalogue
    const tenants = yield* Tenants
    const check = yield* VendorCheck
    const drafts = yield* Drafts
    const keys = yield* UpstreamKeys

    const test = Effect.fn("admin.testVendor")(function* (request: Request, vendor: string) {
      const { model, text } = yield* readJson(VendorCheckRequest, request, maxBodyBytes)
      if (text === undefined) return yield* check.run(vendor, model)
      return yield* check.run(
        vendor,
        model,
        yield* Effect.catchTag(drafts.vendor(text, vendor, operator), "CatalogueRefused", refuseCatalogue),
      )
    })

    const list = Effect.fnUntraced(function* (org: string) {
      yield* knownOrg(tenants, org)
      const infos = yield* keys.list(org)
      return {
        keys: infos.map(({ vendor, baseUrl, hint, updatedAt }) => ({
          vendor,
          ...(baseUrl !== undefined && { baseUrl }),
          hint,
          updatedAt: updatedAt.toISOString(),
        })),
      } satisfies UpstreamKeysResponse
    })

    const set = Effect.fn("admin.setUpstreamKey")(function* (request: Request, { org, vendor }: KeyPlace) {
      const { key, baseUrl } = yield* readJson(UpstreamKeyRequest, request, maxBodyBytes)
      yield* knownOrg(tenants, org)
      const { vendor: vendorOf, searchProviders } = catalogue.current()
      if (vendorOf(vendor) === undefined && !searchProviders.some(({ provider }) => provider.id === vendor)) {
        return yield* serviceError("not_found", "The catalogue has no such vendor or search provider")
      }
      yield* keys.set({ orgId: org, vendorId: vendor, baseUrl, key: Redacted.make(key) })
      return yield* list(org)
    })

    const remove = Effect.fn("admin.removeUpstreamKey")(function* ({ org, vendor }: KeyPlace) {
      if (!(yield* keys.remove(org, vendor))) return yield* serviceError("not_found", "The key does not exist")
      return yield* list(org)
    })

    return handlers
      .handleRaw("testVendor", ({ request, params }) => forOperator(request, test(request, params.vendor)))
      .handleRaw("listUpstreamKeys", ({ request, params }) => forOperator(request, list(params.org)))
      .handleRaw("setUpstreamKey", ({ request, params }) => forOperator(request, set(request, params)))
      .handleRaw("removeUpstreamKey", ({ request, params }) => forOperator(request, remove(params)))
  }),
)
