/** The problems of a new or changed tenant beyond its shape. Pure. */
import { unstorable } from "../catalogue/load.ts"
import type { Problem } from "../catalogue/references.ts"
import type { CatalogueSnapshot } from "../catalogue/snapshot.ts"
import { isPattern } from "../protocol/catalogue/limits.ts"
import { parseNetwork } from "../protocol/values/network.ts"

/** Members that name entries of the platform, and addresses. */
interface Naming {
  readonly [member: string]: unknown
  readonly plan?: string | null
  readonly models?: ReadonlyArray<string> | null
  readonly aliases?: Readonly<Record<string, string>> | null
  readonly policies?: ReadonlyArray<string> | null
  readonly ipAllow?: ReadonlyArray<string> | null
  readonly members?: ReadonlyArray<string>
}

/** Longest tenant without its members, in characters. */
const maxLength = 1024 * 1024
const maxMembers = 100_000

/** @param value a tenant, or the changes of one */
export const problemsOf = (value: Naming, snapshot: CatalogueSnapshot): ReadonlyArray<Problem> => {
  const { plan, models, aliases, policies, ipAllow } = value
  const { members = [], ...withoutMembers } = value
  // A list may also name a route that is passed through.
  const isListed = (name: string) => isPattern(name) || snapshot.passThrough.some(({ handle }) => handle === name)
  const handles = [
    ...(models ?? []).flatMap((handle, at) => (isListed(handle) ? [] : [{ path: ["models", at], handle }])),
    ...Object.entries(aliases ?? {}).map(([name, handle]) => ({ path: ["aliases", name], handle })),
  ]
  return [
    ...unstorable(value),
    ...(JSON.stringify(withoutMembers).length > maxLength ? [{ path: [], message: "is larger than 1 MiB" }] : []),
    ...(members.length > maxMembers ? [{ path: ["members"], message: `has more than ${maxMembers} members` }] : []),
    ...(typeof plan === "string" && snapshot.plan(plan) === undefined
      ? [{ path: ["plan"], message: `unknown plan "${plan}"` }]
      : []),
    ...handles.flatMap(({ path, handle }) =>
      snapshot.model(handle) === undefined ? [{ path, message: `unknown model "${handle}"` }] : [],
    ),
    ...(policies ?? []).flatMap((id, at) =>
      snapshot.policy(id) === undefined ? [{ path: ["policies", at], message: `unknown policy "${id}"` }] : [],
    ),
    ...(ipAllow ?? []).flatMap((network, at) =>
      parseNetwork(network) === undefined
        ? [{ path: ["ipAllow", at], message: `"${network}" is no address or network` }]
        : [],
    ),
  ]
}
