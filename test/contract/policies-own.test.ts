/** Owners and admins list the policies of their organisation, and try texts against them. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PolicyList, PolicyTestReply } from "../../src/protocol/control/policies.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { type EnginesOfTest, startEngines } from "../support/engines/kinds.ts"
import { errorOf, useGateway } from "../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const other = newTestIds()
const owner = `owner.${tag}@example.com`
const absent = `{ moderation: { baseUrl: "https://moderation.example.com", credential: "env:WEIR_TEST_ABSENT" } }`
const policiesWith = (engine: string) => `policies:
  - { id: words, direction: outbound, match: { keywords: [classified] }, reason: leak, forAll: true }
  - { id: personal, direction: both, match: { entities: [email] }, reason: personal_data, action: mask }
  - { id: ours, direction: inbound, match: { regex: "K-[0-9]+" }, reason: our_numbers }
  - { id: foreign, direction: inbound, match: { regex: "F-[0-9]+" }, reason: foreign_numbers }
  - id: engine
    direction: inbound
    match: ${engine}
    reason: flagged
users: [{ id: owner_${tag}, email: ${owner}, org: ${ids.org}, role: owner }]
`
const catalogueWith = (urls: Parameters<typeof testCatalogue>[0], engine: string) =>
  testCatalogue(urls, ids, policiesWith(engine))
    .replace("name: Test,", "name: Test, policies: [personal],")
    .replace(`org: ${ids.org} }\nkeys`, `org: ${ids.org}, policies: [ours, engine] }\nkeys`)
    .replace(
      "apps:\n",
      `  - { id: ${other.org}, name: Other, currency: USD, models: [main], policies: [foreign, personal] }\napps:\n  - { id: ${other.app}, org: ${other.org} }\n`,
    )
const gateway = useGateway({ ids, catalogue: (urls) => catalogueWith(urls, absent) })

let engines: EnginesOfTest
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

let headers: Record<string, string | undefined> = {}
beforeAll(async () => {
  const { accessToken } = await gateway().logIn(owner)
  headers = { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization: `Bearer ${accessToken}` }
})
const own = (method: string, path: string, body?: unknown) => gateway().call(method, path, body, headers)
const decodeList = Schema.decodeUnknownSync(PolicyList, { onExcessProperty: "error" })
const decodeTest = Schema.decodeUnknownSync(PolicyTestReply, { onExcessProperty: "error" })
const none = { count: 0, ids: [] }

describe("GET /v1/policies", () => {
  it("lists those of everyone and of the organisation, without other organisations", async () => {
    const { data } = decodeList(await (await own("GET", "/v1/policies")).json())
    const app = { count: 1, ids: [ids.app] }
    expect(data.map(({ id, namedBy, problem }) => [id, namedBy, problem])).toEqual([
      ["words", { orgs: none, apps: none, keys: none }, undefined],
      ["personal", { orgs: { count: 1, ids: [ids.org] }, apps: none, keys: none }, undefined],
      ["ours", { orgs: none, apps: app, keys: none }, undefined],
      ["engine", { orgs: none, apps: app, keys: none }, undefined],
    ])
  })
})

describe("POST /v1/policies/test", () => {
  const text = "Write to ada@example.com about K-7."
  const tried = async (more: object = {}) =>
    decodeTest(await (await own("POST", "/v1/policies/test", { text, ...more })).json())

  it("tries the policies of the organisation, or of an application of it", async () => {
    const { policies: found, masked } = await tried()
    expect(found.map(({ id, did }) => [id, did])).toEqual([
      ["personal", "masked"],
      ["words", "nothing"],
    ])
    expect(masked).toMatch(/^Write to <EMAIL_[A-Z2-7]{5}> about K-7\.$/)
    const ofApp = await tried({ app: ids.app })
    expect(ofApp.policies.find(({ id }) => id === "ours")?.did).toBe("denied")
    expect(ofApp.masked).toBe(masked)
  })

  it("does not name the operator's settings in a failure", async () => {
    const { policies: found } = await tried({ app: ids.app, policy: "engine" })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ did: "failed", failure: { onFailure: "deny" } })
    expect(JSON.stringify(found)).not.toContain("WEIR_TEST_ABSENT")
  })

  it.each([
    ["an application of another organisation", { app: other.app }, "not_found"],
    ["a policy that is not in force", { policy: "foreign" }, "not_found"],
    ["another organisation", { org: other.org }, "bad_request"],
  ])("refuses %s", async (_what, more, code) => {
    expect(await errorOf(await own("POST", "/v1/policies/test", { text, ...more }))).toMatchObject({ code })
  })

  it("answers the same for a policy that is not in force and one that nobody has", async () => {
    const about = async (policy: string) => errorOf(await own("POST", "/v1/policies/test", { text, policy }))
    const [foreign, unknown] = [await about("foreign"), await about("nobodys")]
    expect(foreign.code).toBe("not_found")
    expect(foreign.message).toBe(unknown.message)
  })

  it("takes a text of 16 KiB, and no longer one", async () => {
    const statusOf = async (size: number) => (await own("POST", "/v1/policies/test", { text: "x".repeat(size) })).status
    expect([await statusOf(16_384), await statusOf(16_385)]).toEqual([200, 400])
  })

  it("tries two texts at once, for all organisations", async () => {
    const { twin, match } = engines.of("lakera")
    const { vendor, second, catalogue } = gateway()
    const slow = JSON.stringify(match({ timeout: "10s" }))
    await Effect.runPromise(catalogue.apply(catalogueWith({ vendor: vendor.url, second: second.url }, slow)))
    twin.mood = { afterMs: 1500 }
    const status = async () => (await own("POST", "/v1/policies/test", { text, app: ids.app })).status
    const together = await Promise.all([status(), status(), status(), status()])
    expect(together.toSorted()).toEqual([200, 200, 429, 429])
    expect(await status()).toBe(200)
  })
})
