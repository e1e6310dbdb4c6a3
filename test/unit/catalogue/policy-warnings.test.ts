/** Warnings of policies that hold streams back without a limit. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { policyWarnings } from "../../../src/catalogue/policy-warnings.ts"

const warningsOf = (policy: string) => {
  const text = `version: 1\npolicies:\n  - { id: x, reason: leak, ${policy} }\n`
  return policyWarnings(Result.getOrThrow(loadCatalogue(text)).document)
}

const warning = ["policies/x: its matches have no longest length; a stream waits from where one begins"]

it.each(['keywords: [a], regex: "b"', "", "entities: [email], engine: { kind: model, model: m }"])(
  "a match has one form: { %s }",
  (match) => {
    const text = `version: 1\npolicies:\n  - { id: x, reason: leak, direction: inbound, match: { ${match} } }\n`
    const loaded = loadCatalogue(text)
    expect(Result.isFailure(loaded) && loaded.failure).toMatchObject([
      { path: "policies[0].match", message: "has one of regex, keywords, entities, moderation and engine" },
    ])
  },
)

describe("a policy on streams", () => {
  it.each([
    'direction: outbound, match: { regex: "BEGIN.*END" }, streams: enforce',
    'direction: both, match: { regex: "BEGIN.*END" }, action: mask',
    "direction: both, match: { entities: [email, secret] }, streams: enforce, action: flag",
  ])("is warned of if its matches have no longest length: %s", (policy) => {
    expect(warningsOf(policy)).toEqual(warning)
  })

  it.each([
    'direction: outbound, match: { regex: "BEGIN.{0,40}END" }, streams: enforce',
    'direction: inbound, match: { regex: "BEGIN.*END" }',
    'direction: outbound, match: { regex: "BEGIN.*END" }',
    "direction: outbound, match: { keywords: [classified] }, streams: enforce",
    'direction: outbound, match: { moderation: { baseUrl: "https://a.test/v1" } }, streams: enforce',
  ])("is not warned of otherwise: %s", (policy) => {
    expect(warningsOf(policy)).toEqual([])
  })

  it.each(["enforce", "sample"])("is warned of if it reviews none (%s)", (streams) => {
    expect(warningsOf(`direction: inbound, match: { keywords: [classified] }, streams: ${streams}`)).toEqual([
      "policies/x: streams has no effect: an inbound policy reviews no replies",
    ])
  })
})
