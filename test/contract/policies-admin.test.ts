/** Operators list content policies, and try texts against them. */
import { Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { PolicyList, PolicyTestReply } from "../../src/protocol/control/policies.ts"
import { answering, hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { type EnginesOfTest, startEngines } from "../support/engines/kinds.ts"
import { errorOf, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
let engines: EnginesOfTest
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

const logged: Array<string> = []
vi.spyOn(console, "log").mockImplementation((line: unknown) => void logged.push(String(line)))

const gateway = useGateway({ ids, config: { logLevel: "All", logFormat: "json" } })

/** The policies `personal` of the organisation, `ours` of the application, `presidio` of nobody, and `words` of everyone. */
const apply = async (): Promise<void> => {
  const { vendor, second, catalogue } = gateway()
  const policies = [
    {
      id: "words",
      direction: "outbound",
      match: { keywords: ["classified"] },
      reason: "leak",
      streams: "enforce",
      forAll: true,
    },
    { id: "personal", direction: "both", match: { entities: ["email"] }, reason: "personal_data", action: "mask" },
    { id: "ours", direction: "inbound", match: { regex: "K-[0-9]+|ada@" }, reason: "our_numbers" },
    { id: "long", direction: "both", match: { regex: "BEGIN.*END" }, reason: "secret_material", streams: "enforce" },
    {
      id: "presidio",
      direction: "both",
      match: engines.of("presidio").match({ timeout: "5s" }),
      reason: "flagged",
      streams: "enforce",
      onFailure: "allow",
    },
  ]
  const text = testCatalogue({ vendor: vendor.url, second: second.url }, ids, `policies: ${JSON.stringify(policies)}`)
    .replace("name: Test,", "name: Test, policies: [personal],")
    .replace(`org: ${ids.org} }\nkeys`, `org: ${ids.org}, policies: [ours] }\nkeys`)
  await Effect.runPromise(catalogue.apply(text))
}

beforeAll(apply)

const admin = (method: string, path: string, body?: unknown) =>
  gateway().call(method, path, body, { "x-svc-admin-key": gateway().adminKey })
const decodeList = Schema.decodeUnknownSync(PolicyList, { onExcessProperty: "error" })
const decodeTest = Schema.decodeUnknownSync(PolicyTestReply, { onExcessProperty: "error" })
const tryText = async (body: object) => decodeTest(await (await admin("POST", "/v1/admin/policies/test", body)).json())

describe("GET /v1/admin/policies", () => {
  it("lists each policy with the text that waits, and the subjects that name it", async () => {
    const { data } = decodeList(await (await admin("GET", "/v1/admin/policies")).json())
    expect(
      data.map(({ id, match, action, streams, waits, forAll }) => [id, match, action, streams, waits, forAll]),
    ).toEqual([
      ["words", "keywords: classified", "deny", "enforce", { until: "characters", characters: 9 }, true],
      ["personal", "entities: email", "mask", "enforce", { until: "characters", characters: 409 }, false],
      ["ours", "regex: K-[0-9]+|ada@", "deny", "sample", undefined, false],
      ["long", "regex: BEGIN.*END", "deny", "enforce", { until: "match" }, false],
      ["presidio", "engine: presidio", "deny", "enforce", { until: "verdict" }, false],
    ])
    const none = { count: 0, ids: [] }
    expect(data.map(({ namedBy }) => namedBy)).toEqual([
      { orgs: none, apps: none, keys: none },
      { orgs: { count: 1, ids: [ids.org] }, apps: none, keys: none },
      { orgs: none, apps: { count: 1, ids: [ids.app] }, keys: none },
      { orgs: none, apps: none, keys: none },
      { orgs: none, apps: none, keys: none },
    ])
  })

  it("requires the admin key", async () => {
    expect(await errorOf(await gateway().call("GET", "/v1/admin/policies"))).toMatchObject({
      code: "admin_key_invalid",
    })
    const refused = await gateway().call("POST", "/v1/admin/policies/test", { text: "a" })
    expect(await errorOf(refused)).toMatchObject({ code: "admin_key_invalid" })
  })
})

describe("POST /v1/admin/policies/test", () => {
  const text = "Write to ada@example.com about K-7, classified."

  it("tries all policies without a subject: masks first, and engines and others see marks", async () => {
    const { policies, masked } = await tryText({ text })
    expect(masked).toMatch(/^Write to <EMAIL_[A-Z2-7]{5}> about K-7, classified\.$/)
    expect(policies.map(({ id, direction, did, reviewed, count }) => [id, direction, did, reviewed, count])).toEqual([
      ["words", "outbound", "denied", "text", 1],
      ["personal", "inbound", "masked", "text", 1],
      ["ours", "inbound", "denied", "masked", 1],
      ["long", "inbound", "nothing", "masked", 0],
      ["presidio", "inbound", "nothing", "masked", 0],
    ])
    expect(policies.map(({ findings }) => findings)).toEqual([
      [{ start: 36, end: 46, label: "MASKED" }],
      [{ start: 9, end: 24, label: "EMAIL" }],
      [{ start: 36, end: 39, label: "MASKED" }].map(() => expect.objectContaining({ label: "MASKED" })),
      [],
      [],
    ])
    const [ours] = policies[2]?.findings ?? []
    expect(masked?.slice(ours?.start, ours?.end)).toBe("K-7")
  })

  it("tries the policies of an organisation or an application, one direction, or one policy", async () => {
    const namesOf = async (more: object) => (await tryText({ text, ...more })).policies.map(({ id }) => id)
    expect(await namesOf({ org: ids.org })).toEqual(["personal", "words"])
    expect((await namesOf({ app: ids.app })).toSorted()).toEqual(["ours", "personal", "words"])
    expect(await namesOf({ app: ids.app, org: ids.org, direction: "outbound" })).toEqual(["personal", "words"])
    const only = await tryText({ text, policy: "presidio", direction: "outbound" })
    expect(only.policies).toEqual([
      expect.objectContaining({
        id: "presidio",
        direction: "outbound",
        did: "denied",
        reviewed: "text",
        findings: [{ start: 9, end: 24, label: "EMAIL" }],
      }),
    ])
    expect(only.masked).toBeUndefined()
  })

  it("marks are those of the organisation's calls, and the same each time", async () => {
    const [own, again, other] = await Promise.all([
      tryText({ text, app: ids.app }),
      tryText({ text, org: ids.org }),
      tryText({ text }),
    ])
    expect(own.masked).toBe(again.masked)
    expect(other.masked).not.toBe(own.masked)
  })

  it("says why an engine gave no verdict, and the verdict of onFailure", async () => {
    const { twin } = engines.of("presidio")
    twin.mood = { body: "{}", status: 500 }
    const { policies } = await tryText({ text, policy: "presidio" })
    twin.mood = "up"
    expect(policies).toEqual([
      expect.objectContaining({
        did: "failed",
        count: 0,
        failure: { engine: "presidio", reason: "error", status: 500, onFailure: "allow" },
      }),
    ])
  })

  it("returns at most 1,000 findings of a policy, with their number", async () => {
    const { policies } = await tryText({ text: "K-1 ".repeat(3000), policy: "ours" })
    expect(policies[0]?.count).toBe(3000)
    expect(policies[0]?.findings).toHaveLength(1000)
    expect(policies[0]?.findings.at(-1)).toEqual({ start: 3996, end: 3999, label: "MASKED" })
  })

  it.each([
    ["no text", {}, "bad_request", /^text: /],
    ["an empty text", { text: "" }, "bad_request", /^text: a text is required/],
    ["a long text", { text: "seldom".repeat(50_000) }, "bad_request", /^text: at most 262144 characters/],
    ["another direction", { text: "a", direction: "up" }, "bad_request", /^direction: /],
    ["an unknown organisation", { text: "a", org: "nobody" }, "not_found", /^The organisation does not exist$/],
    ["an unknown application", { text: "a", app: "nothing" }, "not_found", /^The application does not exist$/],
    [
      "an application of another organisation",
      { text: "a", org: "another", app: ids.app },
      "not_found",
      /^The organisation has no such application$/,
    ],
    ["an unknown policy", { text: "a", policy: "none" }, "not_found", /^The catalogue has no such policy$/],
    [
      "a policy that is not in force",
      { text: "a", policy: "long", org: ids.org },
      "not_found",
      /^The policy is not in force there$/,
    ],
  ])("refuses %s", async (_, body, code, message) => {
    const refused = await errorOf(await admin("POST", "/v1/admin/policies/test", body))
    expect([refused.code, refused.message]).toEqual([code, expect.stringMatching(message)])
    expect(refused.message).not.toContain("seldom")
  })

  it("logs nothing of a text", async () => {
    logged.length = 0
    await tryText({ text: "unheardword K-7 ada@example.com" })
    const lines = logged.join("\n")
    expect(lines).not.toContain("unheardword")
    expect(lines).not.toContain("ada@example.com")
  })
})

describe("policies of a key", () => {
  const ofKey = async (policies: string) => {
    const { vendor, second, catalogue } = gateway()
    const text = testCatalogue(
      { vendor: vendor.url, second: second.url },
      ids,
      "policies: [{ id: words, direction: inbound, match: { keywords: [classified] }, reason: leak }]",
    ).replace(`id: ${ids.key}, `, `id: ${ids.key}, ${policies}models: [main], `)
    await Effect.runPromise(catalogue.apply(text))
  }
  const ask = () =>
    gateway().call("POST", "/t1/exchange", {
      ...hello,
      thread: [{ role: "user", blocks: [{ t: "text", v: "It is classified" }] }],
    })

  it("hold for calls by it, until the catalogue takes them away", async () => {
    await ofKey("policies: [words], ")
    expect(await errorOf(await ask())).toMatchObject({ code: "content_blocked", detail: { reason: "leak" } })
    const { data } = decodeList(await (await admin("GET", "/v1/admin/policies")).json())
    expect(data[0]?.namedBy.keys).toEqual({ count: 1, ids: [ids.key] })
    gateway().vendor.script(answering({ words: ["Yes"], inTokens: 10, outTokens: 2 }))
    await ofKey("")
    expect((await ask()).status).toBe(200)
  })

  it("are known to the catalogue", async () => {
    const refused = await ofKey("policies: [none], ").catch((error: unknown) => String(error))
    expect(refused).toContain('unknown policy "none"')
  })
})
