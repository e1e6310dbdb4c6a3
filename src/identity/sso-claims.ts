/** The claims of a provider about a person: the address, whether it is proven, and groups. Pure. */
import { Schema } from "effect"
import type { SsoProvider } from "../protocol/catalogue/sso-provider.ts"
import { Role } from "../protocol/catalogue/values.ts"
import { Email } from "../protocol/control/login.ts"
import { normalEmail } from "../protocol/values/text.ts"

/** Claims of an ID token, or of the userinfo. */
export type Claims = Readonly<Record<string, unknown>>

/** Scopes that are asked for: other claims than the address are most often part of the profile. */
export const scopeOf = ({ emailClaim, groupsClaim, scopes = [] }: SsoProvider): string => {
  const needsProfile = emailClaim !== undefined || groupsClaim !== undefined
  return [...new Set(["openid", "email", ...(needsProfile ? ["profile"] : []), ...scopes])].join(" ")
}

/** Whether the ID token lacks something that the userinfo may have. */
export const needsUserinfo = (provider: SsoProvider, claims: Claims): boolean =>
  claims[emailClaimOf(provider)] === undefined ||
  (provider.groupsClaim !== undefined && claims[provider.groupsClaim] === undefined && !leavesGroupsOut(claims))

const emailClaimOf = ({ emailClaim = "email" }: SsoProvider): string => emailClaim

/** The address that a provider asserts; not verified. */
export const addressOf = (provider: SsoProvider, claims: Claims): string | undefined => {
  const claimed = claims[emailClaimOf(provider)]
  return isEmail(claimed) ? normalEmail(claimed) : undefined
}

const isEmail = Schema.is(Email)

/** Whether the provider says itself that it has not verified the address. OpenID Connect Core 1.0 section 5.1. */
export const deniesAddress = (claims: Claims): boolean =>
  claims["email_verified"] === false || claims["email_verified"] === "false"

const domainOf = (email: string): string => email.slice(email.lastIndexOf("@") + 1)

/** Whether a provider may assert an address: one of its domains, or any if it has none. */
export const mayAssert = ({ domains, trustDomains }: SsoProvider, email: string): boolean =>
  (domains === undefined && trustDomains === undefined) ||
  [...(domains ?? []), ...(trustDomains ?? [])].includes(domainOf(email))

/** The domain of an address that needs no mailed code, because it belongs to the provider's owner. */
export const trustedDomain = ({ trustDomains = [] }: SsoProvider, email: string): string | undefined =>
  trustDomains.find((domain) => domain === domainOf(email))

/**
 * The groups of a person; undefined if the provider is not asked for them, or says that there are too many for the token:
 * then the stored groups stay.
 */
export const groupsOf = ({ groupsClaim }: SsoProvider, claims: Claims): ReadonlyArray<string> | undefined => {
  if (groupsClaim === undefined || (claims[groupsClaim] === undefined && leavesGroupsOut(claims))) return undefined
  const claimed = [claims[groupsClaim]].flat()
  return claimed.filter((name) => typeof name === "string")
}

/**
 * Entra ID names the claim's source, or says `hasgroups`, in place of more than 200 groups.
 * Source: https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
const leavesGroupsOut = (claims: Claims): boolean =>
  claims["hasgroups"] !== undefined || claims["_claim_names"] !== undefined

/** The role that groups give a person, if any can give one, and for each team that groups name whether it is theirs. */
export interface Assigned {
  readonly role: Role | undefined
  readonly teams: ReadonlyMap<string, boolean>
}

export const assignedBy = ({ groups = {} }: SsoProvider, names: ReadonlyArray<string>): Assigned => {
  const own = new Set(names)
  const teams = new Map<string, boolean>()
  const roles = new Set<Role>()
  let givesRoles = false
  for (const [group, given] of Object.entries(groups)) {
    if (isRole(given)) {
      givesRoles = true
      if (own.has(group)) roles.add(given)
    } else teams.set(given, own.has(group) || teams.get(given) === true)
  }
  const highest = Role.literals.find((role) => roles.has(role))
  return { role: givesRoles ? (highest ?? "member") : undefined, teams }
}

const isRole = Schema.is(Role)
