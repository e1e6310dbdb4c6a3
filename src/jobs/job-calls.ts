/** Calls of a vendor about one of its jobs, with the credential that the job began with. */
import { Effect } from "effect"
import { withOwnKeys } from "../calls/model.ts"
import { authorize } from "../calls/vendor/credential.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import { type CallTarget, targetOfVendor } from "../catalogue/snapshot.ts"
import type { VideoDialect } from "../dialects/media-dialect.ts"
import type { WireRequest } from "../dialects/wire.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Tenants } from "../tenants/tenants.ts"
import { UpstreamBroken, type UpstreamRequest, VendorClient } from "../upstream/client.ts"
import type { Job } from "./job-store.ts"

export interface JobTarget {
  readonly dialect: VideoDialect
  readonly target: CallTarget
  /** Fails if there is no identity now. */
  readonly request: (wire: WireRequest) => Effect.Effect<UpstreamRequest, UpstreamBroken>
}

export const makeJobTargets = Effect.gen(function* () {
  const catalogue = yield* Catalogue
  const client = yield* VendorClient
  const tenants = yield* Tenants

  /** Undefined if the catalogue has the vendor no more, or the key is gone. */
  return Effect.fnUntraced(function* (job: Job): Effect.fn.Return<JobTarget | undefined, StoreUnavailable> {
    const entry = catalogue.current().vendor(job.vendor)
    const dialect = entry?.dialect.video
    if (entry === undefined || dialect === undefined) return undefined
    const own = job.isOwn ? (yield* tenants.org(job.orgId))?.upstreamKeys : undefined
    const [target] = withOwnKeys([targetOfVendor(entry, job.targetModel)], job.orgId, own)
    if (target === undefined || target.isOwn !== job.isOwn) return undefined
    return {
      dialect,
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
