/** Whose replies a caller may share, and what of the catalogue makes them. */
import type { ModelEntry } from "../catalogue/snapshot.ts"
import type { Caller } from "../identity/caller.ts"
import type { CacheShare } from "../protocol/reply-cache.ts"

/** What of a caller says whose replies it may share. */
type Asking = Pick<Caller, "person" | "endUserId" | "keyId"> & { readonly app: { readonly id: string } | undefined }

/** People have no application, and applications without end users are their own person. */
export const scopeOf = ({ app, person, endUserId, keyId }: Asking, share: CacheShare): ReadonlyArray<string> => {
  if (share === "org") return ["org"]
  if (person !== undefined) return ["person", person.id]
  if (app === undefined) return ["key", keyId]
  return share === "person" && endUserId !== undefined ? ["endUser", app.id, endUserId] : ["app", app.id]
}

const fingerprints = new WeakMap<ModelEntry, string>()

/** Changes with a model's targets, their vendors, and its parameters. */
export const fingerprintOf = (entry: ModelEntry): string => {
  const known = fingerprints.get(entry)
  if (known !== undefined) return known
  const { replyCache: _, ...model } = entry.model
  const text = JSON.stringify([model, entry.targets.map(({ vendor }) => vendor)])
  fingerprints.set(entry, text)
  return text
}

/** Where an organisation's own keys are used for these targets: another address may answer otherwise. */
export const ownAddresses = (
  {
    upstreamKeys,
  }: { readonly upstreamKeys?: ReadonlyMap<string, { readonly baseUrl?: string | undefined }> | undefined },
  { targets }: { readonly targets: ReadonlyArray<{ readonly vendor: { readonly id: string } }> },
): ReadonlyArray<unknown> =>
  upstreamKeys === undefined
    ? []
    : targets.flatMap(({ vendor: { id } }) => {
        const own = upstreamKeys.get(id)
        return own === undefined ? [] : [[id, own.baseUrl ?? null]]
      })
