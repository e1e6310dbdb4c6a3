/** Copies of files at vendors: their upload to the vendor's own API, and their removal there. */
import { createHash } from "node:crypto"
import { Effect, Redacted } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { CallTarget } from "../catalogue/snapshot.ts"
import type { WireRequest } from "../dialects/wire.ts"
import type { MediaBody, NamedFile } from "../media/media-file.ts"
import { Tenants } from "../tenants/tenants.ts"
import { fetchWhole, VendorClient } from "../upstream/client.ts"
import type { VendorCopy } from "./client-file.ts"
import { CopyFailed, fileApiOf, type KeptAtVendor } from "./vendor-file-api.ts"

type Place = Pick<CallTarget, "vendor" | "dialect" | "credential" | "network" | "isGuarded">

/** Names a vendor with one credential at one address. @returns undefined if the vendor keeps no files of ours */
export const placeOf = ({ vendor, credential }: Pick<Place, "vendor" | "credential">): string | undefined =>
  vendor.files === "vendor" && credential !== undefined
    ? createHash("sha256")
        .update(JSON.stringify([vendor.id, vendor.baseUrl, Redacted.value(credential)]))
        .digest("hex")
    : undefined

const maxReplyBytes = 64 * 1024
const uploadTime = "60 seconds"
const removalTime = "20 seconds"

export const makeVendorCopies = Effect.gen(function* () {
  const client = yield* VendorClient
  const catalogue = yield* Catalogue
  const tenants = yield* Tenants

  const sendTo =
    ({ vendor, dialect, credential, network, isGuarded }: Place) =>
    ({ method, path, headers, body }: WireRequest<string | MediaBody>) =>
      fetchWhole(
        client,
        {
          ...(method !== undefined && { method }),
          baseUrl: vendor.baseUrl,
          path,
          headers: { ...headers, ...(credential !== undefined && dialect.authorize(Redacted.value(credential))) },
          body,
          isGuarded,
          network,
        },
        maxReplyBytes,
      ).pipe(Effect.mapError(() => new CopyFailed({ problem: `${vendor.id} cannot be reached` })))

  /** The places that a vendor of the catalogue has now for an organisation: the platform's, and that of its own key. */
  const placesOf = Effect.fnUntraced(function* (orgId: string, vendorId: string) {
    const entry = catalogue.current().vendor(vendorId)
    if (entry === undefined) return []
    const own = (yield* tenants.org(orgId))?.upstreamKeys?.get(vendorId)
    const platform: Place = { ...entry, isGuarded: false }
    if (own === undefined) return [platform]
    const { baseUrl = entry.vendor.baseUrl, key: credential } = own
    const brought = { ...platform, vendor: { ...entry.vendor, baseUrl }, credential }
    return [platform, { ...brought, isGuarded: own.baseUrl !== undefined }]
  })

  return {
    upload: (target: Place, file: NamedFile): Effect.Effect<KeptAtVendor, CopyFailed> => {
      const { vendor } = target
      const api = fileApiOf(vendor.dialect)
      if (api === undefined) return Effect.fail(new CopyFailed({ problem: `${vendor.id} has no files` }))
      return Effect.timeoutOrElse(api.upload(sendTo(target), file), {
        duration: uploadTime,
        orElse: () => Effect.fail(new CopyFailed({ problem: `${vendor.id} did not take a file in ${uploadTime}` })),
      })
    },
    /** Removes a copy; one whose credential is gone stays until the vendor erases it. */
    remove: Effect.fnUntraced(function* (orgId: string, copy: VendorCopy) {
      const api = fileApiOf(catalogue.current().vendor(copy.vendor)?.vendor.dialect ?? "")
      const places = yield* placesOf(orgId, copy.vendor)
      const place = places.find((each) => placeOf(asKeeping(each)) === copy.place)
      if (api === undefined || place === undefined) return
      const { status } = yield* Effect.timeoutOrElse(sendTo(place)(api.remove(copy.reference)), {
        duration: removalTime,
        orElse: () => Effect.fail(new CopyFailed({ problem: `${copy.vendor} did not answer in ${removalTime}` })),
      })
      // A file that the vendor does not know, or does not let us see, is not there.
      if (status >= 500 || status === 429) {
        return yield* new CopyFailed({ problem: `${copy.vendor} answered HTTP ${status} to a removal` })
      }
    }),
  }
})

/** Copies are removed also where the catalogue makes no more of them. */
const asKeeping = (place: Place): Place => ({ ...place, vendor: { ...place.vendor, files: "vendor" } })
