/** The vendor of a submission, as the runner asks it: with the credential that the batch began with. */
import { Effect, Option } from "effect"
import { withOwnKeys } from "../../calls/model.ts"
import { authorize } from "../../calls/vendor/credential.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { targetOfVendor } from "../../catalogue/snapshot.ts"
import { CallDeadlines } from "../../deadlines.ts"
import type { BatchDialect } from "../../dialects/batch-dialect.ts"
import type { VendorFault } from "../../dialects/vendor/faults.ts"
import type { AnyWireRequest } from "../../dialects/wire.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { Tenants } from "../../tenants/tenants.ts"
import {
  fetchWhole,
  UpstreamBroken,
  type UpstreamRequest,
  VendorClient,
  type WholeReply,
} from "../../upstream/client.ts"
import { chunksOfReply } from "./reply-chunks.ts"
import type { Submission } from "./submission.ts"

export interface VendorPlace {
  readonly dialect: BatchDialect
  readonly decodeError: (status: number, body: string) => VendorFault
  /** Asks, and reads the whole reply; undefined if there was none. */
  readonly ask: (wire: AnyWireRequest, timeoutMs?: number) => Effect.Effect<WholeReply | undefined>
  /** The chunks of a reply of any length; an error status breaks them. */
  readonly read: (wire: AnyWireRequest) => Effect.Effect<AsyncIterable<Uint8Array>, UpstreamBroken>
}

const replyMs = 20_000
/** A reply may have all results of a batch in it, at vendors that have no file of them. */
const mostReplyBytes = 64 * 1024 * 1024

export const makeVendorPlaces = Effect.gen(function* () {
  const catalogue = yield* Catalogue
  const client = yield* VendorClient
  const tenants = yield* Tenants
  const deadlines = yield* CallDeadlines

  /** Undefined if the catalogue has the vendor no more, or the key is gone. */
  return Effect.fnUntraced(function* (
    submission: Submission,
  ): Effect.fn.Return<VendorPlace | undefined, StoreUnavailable> {
    const { orgId, vendor, targetModel, isOwn } = submission
    const entry = catalogue.current().vendor(vendor)
    const dialect = entry?.dialect.batch
    if (entry === undefined || dialect === undefined) return undefined
    const own = isOwn ? (yield* tenants.org(orgId))?.upstreamKeys : undefined
    const [target] = withOwnKeys([targetOfVendor(entry, targetModel)], orgId, own)
    if (target === undefined || target.isOwn !== isOwn) return undefined

    const request = (wire: AnyWireRequest): Effect.Effect<UpstreamRequest, UpstreamBroken> =>
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
      )
    return {
      dialect,
      decodeError: target.dialect.decodeError,
      ask: (wire, timeoutMs = replyMs) =>
        Effect.map(
          Effect.option(
            Effect.flatMap(request(wire), (sent) => fetchWhole(client, sent, mostReplyBytes, { deadlines, timeoutMs })),
          ),
          Option.getOrUndefined,
        ),
      read: (wire) => Effect.map(request(wire), (sent) => chunksOfReply(client, sent)),
    }
  })
})
