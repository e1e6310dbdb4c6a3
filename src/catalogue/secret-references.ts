/** Every reference to a secret that a catalogue has. Pure. */
import { accessesOfExport, identityReferences } from "../cloud-identities/vendor-identity.ts"
import { type Account, accountOf } from "../policies/engines/compile.ts"
import type { CatalogueDocument, PlatformDocument } from "../protocol/catalogue/document.ts"
import type { NetworkFields } from "../protocol/catalogue/network.ts"
import type { Policy } from "../protocol/catalogue/policy.ts"
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
    files,
    toolServers = [],
    orgs = [],
    keys = [],
  } = document
  return new Set([
    ...vendors.flatMap((vendor) => [...entryReferences(vendor), ...identityReferences(vendor)]),
    ...searchProviders.flatMap(entryReferences),
    ...toolServers.flatMap((server) => [
      ...entryReferences(server),
      ...given(server.oauth?.clientSecret),
      ...[...Object.values(server.headers ?? {}), ...Object.values(server.command?.environment ?? {})].filter(
        isReference,
      ),
    ]),
    ...policies.flatMap(({ match }) => accountReferences(accountOfMatch(match))),
    ...webhooks.flatMap((webhook) => [
      ...given(webhook.url).filter(isReference),
      ...given(webhook.secret),
      ...given(webhook.formerSecret),
      ...entryReferences(webhook),
    ]),
    ...[...exports, ...(files === undefined ? [] : [files])].flatMap((entry) => [
      ...identityReferences(accessesOfExport(entry)),
      ...networkReferences(entry),
    ]),
    ...orgs.flatMap(({ sso }) => given(sso?.clientSecret)),
    ...keys.flatMap(({ secret }) => given(secret)),
  ])
}

/** The account of a policy's engine; undefined if it has none. */
export const accountOfMatch = (match: Policy["match"]): Account | undefined => {
  if ("moderation" in match) return { credential: match.moderation.credential }
  return "engine" in match ? accountOf(match.engine) : undefined
}

const accountReferences = (account: Account | undefined): ReadonlyArray<string> =>
  account === undefined ? [] : [...entryReferences(account), ...given(account.former), ...identityReferences(account)]

const entryReferences = (entry: Entry): ReadonlyArray<string> => [
  ...given(entry.credential),
  ...networkReferences(entry),
]

const given = (ref: string | undefined): ReadonlyArray<string> => (ref === undefined ? [] : [ref])
