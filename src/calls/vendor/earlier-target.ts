/** The target of an earlier request, for requests about its work there: they have the credential that it had. */
import { Effect } from "effect"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { type CallTarget, targetOfVendor } from "../../catalogue/snapshot.ts"
import type { AnyWireRequest } from "../../dialects/wire.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { UpstreamBroken, type UpstreamRequest, VendorClient } from "../../upstream/client.ts"
import { withOwnKeys } from "../model.ts"
import { authorize } from "./credential.ts"

/** Work that goes on at a vendor: its organisation, its model there, and whether it began with the organisation's own key. */
export interface EarlierWork {
  readonly orgId: string
  readonly vendor: string
  readonly targetModel: string
  readonly isOwn: boolean
}

export interface EarlierTarget {
  readonly target: CallTarget
  /** Fails if there is no identity now. */
  readonly request: (wire: AnyWireRequest) => Effect.Effect<UpstreamRequest, UpstreamBroken>
}

export const makeEarlierTargets = Effect.gen(function* () {
  const catalogue = yield* Catalogue
  const client = yield* VendorClient
  const tenants = yield* Tenants

  /** Undefined if the catalogue has the vendor no more, or the key is gone. */
  return Effect.fnUntraced(function* ({
    orgId,
    vendor,
    targetModel,
    isOwn,
  }: EarlierWork): Effect.fn.Return<EarlierTarget | undefined, StoreUnavailable> {
    const entry = catalogue.current().vendor(vendor)
    if (entry === undefined) return undefined
    const own = isOwn ? (yield* tenants.org(orgId))?.upstreamKeys : undefined
    const [target] = withOwnKeys([targetOfVendor(entry, targetModel)], orgId, own)
    if (target === undefined || target.isOwn !== isOwn) return undefined
    return {
      target,
      request: (wire) =>
        authorize(client, target, wire).pipe(
          Effect.mapError((cause) => new UpstreamBroken({ cause })),
          Effect.map((authorization): UpstreamRequest => {
            const { method, path, headers, body } = wire
            return {
              ...(method !== undefined && { method }),
              baseUrl: target.vendor.baseUrl,
              path,
              headers: { ...headers, ...authorization },
              body,
              isGuarded: target.isGuarded,
              network: target.network,
            }
          }),
        ),
    }
  })
})
