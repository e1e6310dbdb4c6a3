/** The configuration bundle of a caller, with its content-stable fingerprint. Pure, except for a cache. */

import { searchDirectory } from "../catalogue/search-directory.ts"
import type { CatalogueSnapshot } from "../catalogue/snapshot.ts"
import type { Caller } from "../identity/caller.ts"
import type { Bundle } from "../protocol/control/bundle.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"
import { fingerprint } from "../protocol/values/canonical.ts"
import { handlesOf } from "../tenants/subject-limits.ts"
import type { Effective } from "./merge.ts"

/** The only word of the capability header. */
export const audioFeature = "platform-audio"

/** Clients without the header, or with unknown words only, get the baseline; owners always get everything. */
export type Tier = "baseline" | "full"

/** Capabilities of the header: comma-separated, case-insensitive; unknown words are ignored. End-user path only. */
export const tierOf = ({ endUserId }: Caller, header: string | undefined): Tier => {
  if (endUserId === undefined) return "full"
  const declared = (header ?? "").split(",").map((word) => word.trim().toLowerCase())
  return declared.includes(audioFeature) ? "full" : "baseline"
}

type BundleHolder = Pick<Caller, "org" | "limits">

/** Cache: the same snapshot, settings, organisation with limits, and tier give the same bundle. */
const remembered = new WeakMap<CatalogueSnapshot, WeakMap<object, WeakMap<Effective, Map<Tier, Bundle>>>>()

export const bundleOf = (
  snapshot: CatalogueSnapshot,
  holder: BundleHolder,
  tier: Tier,
  settings: Effective,
): Bundle => {
  const ofSnapshot = remembered.get(snapshot) ?? new WeakMap<object, WeakMap<Effective, Map<Tier, Bundle>>>()
  remembered.set(snapshot, ofSnapshot)
  // Limits are of one organisation, and are made again when it changes.
  const subject = holder.limits ?? holder.org
  const ofHolder = ofSnapshot.get(subject) ?? new WeakMap<Effective, Map<Tier, Bundle>>()
  ofSnapshot.set(subject, ofHolder)
  const bundles = ofHolder.get(settings) ?? new Map<Tier, Bundle>()
  ofHolder.set(settings, bundles)
  const known = bundles.get(tier)
  if (known !== undefined) return known
  const content = contentOf(snapshot, holder, tier, settings)
  const bundle: Bundle = { configVersion: fingerprint(content), ...content }
  bundles.set(tier, bundle)
  return bundle
}

function contentOf(
  snapshot: CatalogueSnapshot,
  holder: BundleHolder,
  tier: Tier,
  settings: Effective,
): Omit<Bundle, "configVersion"> {
  const { org } = holder
  const can = (capability: string): boolean => org.capabilities?.[capability] === true
  const isFull = tier === "full"
  const handles = handlesOf(holder, snapshot)
  const ofKind = (kind: ModelKind) => handles.filter((handle) => snapshot.model(handle)?.model.kind === kind)
  const [image, speechToText, textToSpeech] = [ofKind("image"), ofKind("transcription"), ofKind("speech")]
  return {
    models: handles.flatMap((handle) => {
      const model = snapshot.model(handle)?.model
      if (model === undefined || (model.kind ?? "chat") !== "chat") return []
      const { contextWindow, maxOutput } = model
      return [
        {
          handle,
          mode: model.mode ?? "platform",
          capabilities: model.capabilities ?? [],
          ...(contextWindow !== undefined && { contextWindow }),
          ...(maxOutput !== undefined && { maxOutput }),
        },
      ]
    }),
    capabilities: {
      platform: {
        webSearch: can("webSearch"),
        imageGen: can("imageGen"),
        videoGen: can("videoGen"),
        ...(isFull && { speechToText: can("speechToText"), textToSpeech: can("textToSpeech") }),
      },
    },
    platformModels: {
      image,
      video: ofKind("video"),
      ...(isFull && { speechToText, textToSpeech }),
      ...otherKinds(snapshot, handles),
    },
    // A medium is on if the organisation's end users may use it, or if its own calls have a model for it.
    ...(isFull && {
      media: {
        asr: { enabled: can("speechToText") || speechToText.length > 0 },
        tts: { enabled: can("textToSpeech") || textToSpeech.length > 0 },
      },
    }),
    settings,
    search: searchDirectory(snapshot),
  }
}

/** Handles of the kinds beside chat, where there are some. */
const otherKinds = (snapshot: CatalogueSnapshot, handles: ReadonlyArray<string>) => {
  const kindOf = (handle: string) => snapshot.model(handle)?.model.kind ?? "chat"
  return Object.fromEntries(
    (["embedding", "rerank", "moderation"] as const).flatMap((kind) => {
      const own = handles.filter((handle) => kindOf(handle) === kind)
      return own.length === 0 ? [] : [[kind, own]]
    }),
  )
}
