/** The scope within which a caller may share replies, and the part of the catalogue that the replies depend on. */
import type { ModelEntry } from "../../catalogue/snapshot.ts"
import type { CallerIds } from "../../identity/caller.ts"
import type { CacheShare } from "../../protocol/control/reply-cache.ts"
import type { UpstreamKey } from "../../upstream/upstream-keys.ts"

/** People have no application; in applications without end users, the application counts as the person. */
export const scopeOf = ({ app, person, endUserId, keyId }: CallerIds, share: CacheShare): ReadonlyArray<string> => {
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

/** The addresses of the organisation's own keys for these targets: another address may answer differently. */
export const ownAddresses = (
  { upstreamKeys }: { readonly upstreamKeys?: ReadonlyMap<string, Pick<UpstreamKey, "baseUrl">> | undefined },
  { targets }: { readonly targets: ReadonlyArray<{ readonly vendor: { readonly id: string } }> },
): ReadonlyArray<unknown> =>
  upstreamKeys === undefined
    ? []
    : targets.flatMap(({ vendor: { id } }) => {
        const own = upstreamKeys.get(id)
        return own === undefined ? [] : [[id, own.baseUrl ?? null]]
      })
