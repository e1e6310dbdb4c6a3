/** The person in a provider's claims, by the provider's settings. */
import { Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import {
  addressOf,
  assignedBy,
  deniesAddress,
  groupsOf,
  mayAssert,
  needsUserinfo,
  scopeOf,
  trustedDomain,
} from "../../../src/identity/sso-claims.ts"
import { SsoProvider } from "../../../src/protocol/catalogue/sso-provider.ts"

const base = { issuer: "https://login.example.com", clientId: "weir" }
const provider = (more: object) => Schema.decodeUnknownSync(SsoProvider)({ ...base, ...more })
const entra = provider({
  emailClaim: "preferred_username",
  trustDomains: ["example.com"],
  groupsClaim: "groups",
  groups: { a: "admin", m: "member", t: "team", t2: "team" },
})

describe("settings", () => {
  it.each([
    [{ emailClaim: "upn" }, "domains"],
    [{ createPeople: true, domains: ["example.com"] }, "trustDomains"],
    [{ groups: { a: "admin" } }, "groupsClaim"],
    [{ emailClaim: "no claim", domains: ["example.com"] }, "claim"],
    [{ scopes: ["a b"] }, "scope"],
  ])("%j is refused", (more, why) => {
    const decoded = Schema.decodeUnknownResult(SsoProvider)({ ...base, ...more })
    expect(Result.isFailure(decoded) && String(decoded.failure)).toContain(why)
  })

  it("a domain is trusted to one provider, however many organisations it has", () => {
    const org = (id: string, issuer: string) =>
      `  - { id: ${id}, name: N, currency: USD, models: [], sso: { issuer: "${issuer}", clientId: c, trustDomains: [a.example, b.example] } }`
    const load = (...orgs: ReadonlyArray<string>) => loadCatalogue(["version: 1", "orgs:", ...orgs].join("\n"))
    expect(Result.isSuccess(load(org("a", "https://one.example"), org("b", "https://one.example")))).toBe(true)
    const refused = load(org("a", "https://one.example"), org("b", "https://two.example"))
    expect(Result.isFailure(refused) && refused.failure).toMatchObject([
      { path: "orgs[1].sso.trustDomains[0]", line: 4, message: expect.stringContaining("another provider") },
      { path: "orgs[1].sso.trustDomains[1]" },
    ])
  })

  it("scopes: the profile where another claim is read, and those that are set", () => {
    expect(scopeOf(provider({}))).toBe("openid email")
    expect(scopeOf(entra)).toBe("openid email profile")
    expect(scopeOf(provider({ scopes: ["groups", "email"] }))).toBe("openid email groups")
  })
})

describe("an address", () => {
  it("is that of the claim, in lower case; none if it is malformed or no text", () => {
    expect(addressOf(entra, { email: "x@other.example", preferred_username: "Ada@Example.com" })).toBe(
      "ada@example.com",
    )
    for (const preferred_username of [undefined, "", "ada", "a@b@c", ["a@example.com"], 7, "a@example.com\n"]) {
      expect(addressOf(entra, { preferred_username, email: "x@example.com" })).toBeUndefined()
    }
  })

  it("is of a domain that the provider may assert, as a whole", () => {
    for (const email of ["a@sub.example.com", "a@notexample.com", "a@example.com.evil.example", "a@evil.example"]) {
      expect([mayAssert(entra, email), trustedDomain(entra, email)], email).toEqual([false, undefined])
    }
    expect([mayAssert(entra, "a@example.com"), trustedDomain(entra, "a@example.com")]).toEqual([true, "example.com"])
    expect([mayAssert(provider({}), "a@any.example"), trustedDomain(provider({}), "a@any.example")]).toEqual([
      true,
      undefined,
    ])
  })

  it("is not believed where the provider says that it is not verified", () => {
    expect([false, "false", true, undefined].map((email_verified) => deniesAddress({ email_verified }))).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})

describe("groups", () => {
  it("are unknown where they are not asked for or left out, and none where there is no claim", () => {
    expect(groupsOf(provider({}), { groups: ["a"] })).toBeUndefined()
    expect(groupsOf(entra, { _claim_names: { groups: "src1" } })).toBeUndefined()
    expect(groupsOf(entra, { hasgroups: true })).toBeUndefined()
    expect(groupsOf(entra, {})).toEqual([])
    expect(groupsOf(entra, { groups: "a" })).toEqual(["a"])
    expect(groupsOf(entra, { groups: ["a", 7, null] })).toEqual(["a"])
  })

  it("are asked of the userinfo where the token lacks them", () => {
    expect(needsUserinfo(entra, { preferred_username: "a@example.com", groups: [] })).toBe(false)
    expect(needsUserinfo(entra, { preferred_username: "a@example.com" })).toBe(true)
    expect(needsUserinfo(entra, { preferred_username: "a@example.com", hasgroups: true })).toBe(false)
    expect(needsUserinfo(entra, { groups: [] })).toBe(true)
  })

  it("give the highest role, or member; any group of a team gives the team; roles only where groups give any", () => {
    expect(assignedBy(entra, ["m", "a", "t"])).toEqual({ role: "admin", teams: new Map([["team", true]]) })
    expect(assignedBy(entra, ["t2"])).toEqual({ role: "member", teams: new Map([["team", true]]) })
    expect(assignedBy(entra, [])).toEqual({ role: "member", teams: new Map([["team", false]]) })
    expect(assignedBy(provider({ groupsClaim: "groups", groups: { t: "team" } }), ["t"]).role).toBeUndefined()
    expect(assignedBy(entra, ["__proto__", "constructor"]).role).toBe("member")
  })
})
