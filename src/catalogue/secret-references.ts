/** Every reference to a secret that a catalogue has. Pure. */
import { accessesOfExport, identityReferences } from "../cloud-identities/vendor-identity.ts"
import { secretOf } from "../policies/policy.ts"
import type { CatalogueDocument, PlatformDocument } from "../protocol/catalogue/document.ts"
import type { NetworkFields } from "../protocol/catalogue/network.ts"
import { isReference, networkReferences } from "../upstream/network.ts"

interface Entry extends NetworkFields {
  readonly credential?: string | undefined
}

/** @param document as a whole, or the part that every node keeps in memory */
export const secretReferences = (
  document: PlatformDocument & Partial<Pick<CatalogueDocument, "orgs" | "keys">>,
): ReadonlySet<string> => {
  const {
    vendors = [],
    searchProviders = [],
    policies = [],
    webhooks = [],
    exports = [],
    orgs = [],
    keys = [],
  } = document
  return new Set([
    ...vendors.flatMap((vendor) => [...entryReferences(vendor), ...identityReferences(vendor)]),
    ...searchProviders.flatMap(entryReferences),
    ...policies.flatMap(({ match }) =>
      "moderation" in match
        ? given(match.moderation.credential)
        : "engine" in match
          ? given(secretOf(match.engine))
          : [],
    ),
    ...webhooks.flatMap((webhook) => [
      ...given(webhook.url).filter(isReference),
      ...given(webhook.secret),
      ...given(webhook.formerSecret),
      ...entryReferences(webhook),
    ]),
    ...exports.flatMap((entry) => [...identityReferences(accessesOfExport(entry)), ...networkReferences(entry)]),
    ...orgs.flatMap(({ sso }) => given(sso?.clientSecret)),
    ...keys.flatMap(({ secret }) => given(secret)),
  ])
}

const entryReferences = (entry: Entry): ReadonlyArray<string> => [
  ...given(entry.credential),
  ...networkReferences(entry),
]

const given = (ref: string | undefined): ReadonlyArray<string> => (ref === undefined ? [] : [ref])
