/** Identity providers of organisations. */
import { Schema } from "effect"
import { HttpUrl, Id, Role, SecretRef } from "./values.ts"

const MailDomains = Schema.Array(
  Schema.String.check(Schema.isPattern(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, { expected: "a domain in lower case" })),
).check(Schema.isMinLength(1))

const ClaimName = Schema.String.check(Schema.isPattern(/^[\w.:/-]{1,256}$/, { expected: "the name of a claim" }))

/** An organisation's own identity provider. Source: OpenID Connect Core 1.0. */
export const SsoProvider = Schema.Struct({
  /** HTTPS; the rest is discovered at `/.well-known/openid-configuration`. */
  issuer: Schema.String.check(Schema.isPattern(/^https:\/\/[^\s?#]+$/, { expected: "an https URL" })),
  /** The id under which the gateway is registered there. */
  clientId: Schema.NonEmptyString,
  /** Absent for a public client, which uses PKCE only. */
  clientSecret: Schema.optionalKey(SecretRef),
  /** Mail domains that the provider may assert, beside `trustDomains`; all if both are absent. */
  domains: Schema.optionalKey(MailDomains),
  /** Mail domains that belong to the provider's owner: an address there needs no mailed code. */
  trustDomains: Schema.optionalKey(MailDomains),
  /** Whether somebody with an address in `trustDomains` who is not a member becomes one at the first login. */
  createPeople: Schema.optionalKey(Schema.Boolean),
  /** The claim that has the address, e.g. `preferred_username`; `email` if absent. Needs `domains` or `trustDomains`. */
  emailClaim: Schema.optionalKey(ClaimName),
  /** The claim that has the names or ids of a person's groups. */
  groupsClaim: Schema.optionalKey(ClaimName),
  /** The role that a group gives, or the team to whose members it belongs, by the group's name or id. */
  groups: Schema.optionalKey(
    Schema.Record(Schema.NonEmptyString.check(Schema.isMaxLength(256)), Schema.Union([Role, Id])),
  ),
  /** Scopes that are asked for beside `openid` and `email`. */
  scopes: Schema.optionalKey(
    Schema.Array(Schema.String.check(Schema.isPattern(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, { expected: "a scope" }))),
  ),
  /** Addresses of the organisation's back ends to which a login may return with a code. */
  returnTo: Schema.optionalKey(Schema.Array(HttpUrl)),
}).check(
  Schema.makeFilter((provider: SsoSettings) => {
    const { domains, trustDomains, emailClaim, createPeople, groups, groupsClaim } = provider
    if (emailClaim !== undefined && domains === undefined && trustDomains === undefined) {
      return { path: ["emailClaim"], issue: "needs domains or trustDomains: nothing verifies such an address" }
    }
    if (createPeople === true && trustDomains === undefined) {
      return { path: ["createPeople"], issue: "needs trustDomains" }
    }
    return groups !== undefined && groupsClaim === undefined
      ? { path: ["groups"], issue: "needs groupsClaim" }
      : undefined
  }),
)
/** Settings of a provider that depend on each other. */
interface SsoSettings {
  readonly domains?: ReadonlyArray<string>
  readonly trustDomains?: ReadonlyArray<string>
  readonly emailClaim?: string
  readonly createPeople?: boolean
  readonly groupsClaim?: string
  readonly groups?: Readonly<Record<string, string>>
}
export type SsoProvider = typeof SsoProvider.Type
