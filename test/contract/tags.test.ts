/** Tags of calls: in records, CSV, summaries, lists and budgets; set and required by applications. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { ExchangeLogPage } from "../../src/protocol/control/exchange-log.ts"
import { UsageSummary } from "../../src/protocol/control/usage-summary.ts"
import { answering, hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const ref = `secret: "env:WEIR_TEST_KEY"`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `budgets:\n  - { id: ranks_${ids.org}, scope: "tag:feature", unit: tokens, period: day, limit: 2000 }\n  - { id: made_${ids.org}, scope: "tag:constructor", unit: tokens, period: day, limit: 10000 }`,
    ).replace(
      "\nkeys:\n",
      `\n  - { id: ${ids.app}_set, org: ${ids.org}, tags: { team: search }, requiredTags: [feature] }\n  - { id: ${ids.app}_made, org: ${ids.org}, requiredTags: [constructor] }\n  - { id: ${ids.app}_build, org: ${ids.org}, tags: { constructor: "y" } }\nkeys:\n  - { id: ${ids.key}_made, app: ${ids.app}_made, ${ref} }\n  - { id: ${ids.key}_build, app: ${ids.app}_build, ${ref} }\n  - { id: ${ids.key}_set, app: ${ids.app}_set, ${ref} }\n`,
    ),
})

const spoken = { words: ["Hi"], inTokens: 10, outTokens: 5 }
const asSet = { "x-svc-key-id": `${ids.key}_set`, "x-svc-key": "wk_test_secret" }
const ask = (tags: unknown, headers: Record<string, string> = {}) =>
  gateway().call("POST", "/t1/exchange", { ...hello, params: { maxTokens: 20 }, meta: { tags } }, headers)
const chat = (tags: string, headers: Record<string, string> = {}) =>
  gateway().call(
    "POST",
    "/openai/v1/chat/completions",
    { model: "main", max_tokens: 20, messages: [{ role: "user", content: "Hi" }] },
    { "x-svc-tags": tags, ...headers },
  )
const readList = Schema.decodeUnknownSync(ExchangeLogPage)
const readSummary = Schema.decodeUnknownSync(UsageSummary)
const asAdmin = () => ({ "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-admin-key": gateway().adminKey })
const listed = async (query: string) =>
  readList(
    await (await gateway().call("GET", `/v1/admin/exchanges?org=${ids.org}&${query}`, undefined, asAdmin())).json(),
  ).data

describe("tags", () => {
  it("are in the usage record, the list, the CSV and the summary", async () => {
    gateway().vendor.script(answering(spoken))
    expect((await ask({ feature: "rank", team: "search" })).status).toBe(200)
    expect((await chat("feature=chat, team=search%2C%20again")).status).toBe(200)
    expect((await ask(undefined)).status).toBe(200)
    await eventually(async () => (await listed("")).length === 3)
    const tagsOf = async (query: string) => (await listed(query)).map(({ tags }) => tags)
    expect(await tagsOf("tags=team=search")).toEqual([{ feature: "rank", team: "search" }])
    expect(await tagsOf("tags=feature=chat")).toEqual([{ feature: "chat", team: "search, again" }])
    const csv = await (await gateway().call("GET", `/v1/admin/orgs/${ids.org}/usage.csv`, undefined, asAdmin())).text()
    expect(csv.split("\r\n")[0]?.split(",")).toContain("tags")
    expect(csv).toContain("feature=rank; team=search")
    const summary = async (query: string) =>
      readSummary(
        await (
          await gateway().call("GET", `/v1/admin/usage-summary?org=${ids.org}&${query}`, undefined, asAdmin())
        ).json(),
      )
    const { groups, totals } = await summary("by=tag:feature")
    expect(groups.map(({ group, exchanges }) => [group, exchanges]).sort()).toEqual([
      ["", 1],
      ["chat", 1],
      ["rank", 1],
    ])
    expect(totals.exchanges).toBe(3)
    expect((await summary("by=model&tags=feature=rank")).totals.exchanges).toBe(1)
    const bad = await gateway().call(
      "GET",
      `/v1/admin/usage-summary?org=${ids.org}&by=tag:Feature`,
      undefined,
      asAdmin(),
    )
    expect(bad.status).toBe(400)
  })

  it.each([
    [{ Feature: "x" }],
    [{ "1st": "x" }],
    [{ feature: "" }],
    [{ feature: "x".repeat(65) }],
    [{ feature: "a\u0000b" }],
    [{ feature: "a\nb" }],
    [{ feature: 5 }],
    [Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`t${at}`, "x"]))],
    ["feature=rank"],
  ])("%j are refused", async (tags) => {
    expect(await errorOf(await ask(tags))).toMatchObject({ status: 400, code: "bad_request" })
  })

  it("in a header are refused by the name of the header", async () => {
    for (const tags of ["Feature=x", "=x", "feature=x, =y", "feature"]) {
      const reply = await chat(tags)
      expect(reply.status, tags).toBe(400)
      expect(await reply.text()).toContain("x-svc-tags")
    }
  })

  it("that an application requires must be there, and those that it sets stay", async () => {
    gateway().vendor.script(answering(spoken))
    expect(await errorOf(await ask({ other: "x" }, asSet))).toMatchObject({
      status: 400,
      detail: { issues: [{ path: "meta.tags.feature" }] },
    })
    expect(await errorOf(await ask({ feature: "x", team: "mine" }, asSet))).toMatchObject({
      status: 400,
      detail: { issues: [{ path: "meta.tags.team" }] },
    })
    expect((await ask({ feature: "set", team: "search" }, asSet)).status).toBe(200)
    expect((await chat("feature=set", asSet)).status).toBe(200)
    await eventually(async () => (await listed("tags=feature=set,team=search")).length === 2)
  })

  it("that are missing leave the request id free", async () => {
    gateway().vendor.script(answering(spoken))
    const requestId = `tags-${ids.key}`
    const body = (tags: object) => ({ ...hello, params: { maxTokens: 20 }, meta: { requestId, tags } })
    const call = (tags: object) => gateway().call("POST", "/t1/exchange", body(tags), asSet)
    expect((await call({ other: "x" })).status).toBe(400)
    expect((await call({ feature: "later" })).status).toBe(200)
  })

  it("that are called like a member of each object are as any other", async () => {
    gateway().vendor.script(answering(spoken))
    const as = (key: string) => ({ ...asSet, "x-svc-key-id": `${ids.key}_${key}` })
    expect(await errorOf(await ask({ other: "x" }, as("made")))).toMatchObject({
      status: 400,
      detail: { issues: [{ path: "meta.tags.constructor" }] },
    })
    expect((await ask({ other: "x" }, as("build"))).status).toBe(200)
    expect((await ask({ other: "x", feature: "plain" })).status).toBe(200)
    const states = await (await gateway().call("GET", `/v1/admin/orgs/${ids.org}/budgets`, undefined, asAdmin())).text()
    expect(states).not.toContain("native code")
    expect((await ask(JSON.parse('{"__proto__": "x"}'))).status).toBe(400)
    expect((await chat("__proto__=x")).status).toBe(400)
  })

  it.each([
    ["/openai/v1/responses", { model: "main", max_output_tokens: 20, input: "Hi" }],
    ["/anthropic/v1/messages", { model: "main", max_tokens: 20, messages: [{ role: "user", content: "Hi" }] }],
    ["/gemini/v1beta/models/main:generateContent", { contents: [{ role: "user", parts: [{ text: "Hi" }] }] }],
  ])("are taken from the header at %s, and are held against their budget", async (path, body) => {
    gateway().vendor.script(answering({ ...spoken, inTokens: 1990, outTokens: 15 }))
    const feature = path.split("/")[1] ?? ""
    const call = () => gateway().call("POST", path, body, { "x-svc-tags": `feature=at-${feature}${path.length}` })
    expect((await call()).status).toBe(200)
    await eventually(async () => (await listed(`tags=feature=at-${feature}${path.length}`)).length === 1)
    expect((await call()).status).toBe(429)
  })

  it("have budgets, one for each value", async () => {
    gateway().vendor.script(answering({ ...spoken, inTokens: 900, outTokens: 900 }))
    const big = (tags: object) =>
      gateway().call("POST", "/t1/exchange", { ...hello, params: { maxTokens: 1000 }, meta: { tags } })
    expect((await big({ feature: "dear" })).status).toBe(200)
    expect(await errorOf(await big({ feature: "dear" }))).toMatchObject({
      code: "quota_exceeded",
      detail: { scope: "tag:feature", subject: "dear", limit: 2000, used: 1800 },
    })
    expect((await big({ feature: "cheap" })).status).toBe(200)
    expect((await big({})).status).toBe(200)
  })
})
