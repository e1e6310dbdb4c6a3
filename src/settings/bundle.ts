/** The configuration that a caller is given, with its content-stable fingerprint. Pure, but for what it remembers. */
import type { CatalogueSnapshot, OrgEntry } from "../catalogue/snapshot.ts"
import type { Caller } from "../identity/caller.ts"
import type { Bundle } from "../protocol/bundle.ts"
import { fingerprint } from "../protocol/canonical.ts"
import { searchDirectory } from "../search/directory.ts"
import type { Effective } from "./merge.ts"

/** The capability header's vocabulary: one word. */
export const audioFeature = "platform-audio"

/** Who has no header, or knows none of its words, is at the baseline; owners always have everything. */
export type Tier = "baseline" | "full"

/** Source: interface.md "Capability header": commas, any case, unknown words ignored; end-user path only. */
export const tierOf = ({ endUserId }: Caller, header: string | undefined): Tier => {
  if (endUserId === undefined) return "full"
  const declared = (header ?? "").split(",").map((word) => word.trim().toLowerCase())
  return declared.includes(audioFeature) ? "full" : "baseline"
}

/** The same snapshot, settings, organisation and tier always give the same bundle: it is made once. */
const remembered = new WeakMap<CatalogueSnapshot, WeakMap<Effective, Map<string, Bundle>>>()

export const bundleOf = (snapshot: CatalogueSnapshot, entry: OrgEntry, tier: Tier, settings: Effective): Bundle => {
  const ofSnapshot = remembered.get(snapshot) ?? new WeakMap<Effective, Map<string, Bundle>>()
  remembered.set(snapshot, ofSnapshot)
  const bundles = ofSnapshot.get(settings) ?? new Map<string, Bundle>()
  ofSnapshot.set(settings, bundles)
  const key = `${tier} ${entry.org.id}`
  const known = bundles.get(key)
  if (known !== undefined) return known
  const content = contentOf(snapshot, entry, tier, settings)
  const bundle: Bundle = { configVersion: fingerprintOf(content), ...content }
  bundles.set(key, bundle)
  return bundle
}

/** SHA-256 of the canonical JSON, cut to 32 hexadecimal characters: blind to the order of keys. */
export const fingerprintOf = (content: object): string => fingerprint(JSON.parse(JSON.stringify(content))).slice(0, 32)

function contentOf(
  snapshot: CatalogueSnapshot,
  { org }: OrgEntry,
  tier: Tier,
  settings: Effective,
): Omit<Bundle, "configVersion"> {
  const can = (capability: string): boolean => org.capabilities?.[capability] === true
  const isFull = tier === "full"
  return {
    models: org.models.flatMap((handle) => {
      const model = snapshot.model(handle)?.model
      if (model === undefined) return []
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
    platformModels: { image: [], video: [], ...(isFull && { speechToText: [], textToSpeech: [] }) },
    ...(isFull && { media: { asr: { enabled: can("speechToText") }, tts: { enabled: can("textToSpeech") } } }),
    settings,
    search: searchDirectory(snapshot),
  }
}
