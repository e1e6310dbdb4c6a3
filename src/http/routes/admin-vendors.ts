/** Admin routes for vendor checks and organisations' upstream keys. */
import { Effect, Redacted, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { checkOwnIdentity } from "../../cloud-identities/own-identity.ts"
import { Api } from "../../protocol/api.ts"
import type { Vendor } from "../../protocol/catalogue/vendor.ts"
import { UpstreamKeyRequest, type UpstreamKeysResponse, VendorCheckRequest } from "../../protocol/control/admin.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { Drafts } from "../../setup/drafts.ts"
import { VendorCheck } from "../../setup/vendor-check.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { storedIdentity } from "../../upstream/stored-identity.ts"
import { type SetUpstreamKey, UpstreamKeys } from "../../upstream/upstream-keys.ts"
import { knownOrg, makeForOperator, maxBodyBytes, maxCatalogueBytes, operator, refuseCatalogue } from "../operator.ts"
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
      const { model, text, fields } = yield* readJson(VendorCheckRequest, request, maxCatalogueBytes)
      if (text === undefined) return yield* check.run(vendor, model, undefined, fields)
      return yield* check.run(
        vendor,
        model,
        yield* Effect.catchTag(drafts.vendor(text, vendor, operator), "CatalogueRefused", refuseCatalogue),
        fields,
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
      const asked = yield* readJson(UpstreamKeyRequest, request, maxBodyBytes)
      yield* knownOrg(tenants, org)
      const { vendor: vendorOf, searchProviders } = catalogue.current()
      const entry = vendorOf(vendor)
      if (entry === undefined && !searchProviders.some(({ provider }) => provider.id === vendor)) {
        return yield* serviceError("not_found", "The catalogue has no such vendor or search provider")
      }
      const own = yield* Effect.fromResult(broughtBy(asked, entry?.vendor))
      yield* keys.set({ orgId: org, vendorId: vendor, baseUrl: asked.baseUrl, ...own })
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

/**
 * An organisation's own credential, as it is stored.
 * @param vendor undefined for a search provider, which has keys alone
 */
const broughtBy = (
  { key = "", aws, google, azure }: UpstreamKeyRequest,
  vendor: Vendor | undefined,
): Result.Result<Pick<SetUpstreamKey, "key" | "hint" | "issuer">, ServiceError<"bad_request">> => {
  const own = aws ? { aws } : google ? { google } : azure && { azure }
  if (own === undefined) return Result.succeed({ key: Redacted.make(key), hint: key.slice(-4) })
  if (vendor === undefined) return Result.fail(invalidInput([{ path: "key", message: "a search provider has a key" }]))
  return Result.map(checkOwnIdentity(own, vendor), ({ hint, address }) => ({
    key: Redacted.make(storedIdentity(own)),
    hint,
    issuer: address,
  }))
}
