/** Safety review over HTTP. */
import { setTimeout as sleep } from "node:timers/promises"
import { beforeEach, describe, expect, it } from "vitest"
import { answering, hello, newTestIds, readEvents, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, holdsOf, lastUsage, useGateway } from "../support/gateway.ts"

const ids = newTestIds()

const policies = (moderation: string) => `
policies:
  - { id: keys, direction: inbound, match: { regex: "BEGIN (RSA|OPENSSH) PRIVATE KEY" }, reason: secret_material }
  - { id: words, direction: inbound, match: { keywords: [forbidden] }, reason: bad_word }
  - { id: leak, direction: outbound, match: { keywords: [classified] }, reason: leak }
  - id: closed
    direction: inbound
    match: { moderation: { baseUrl: "${moderation}/closed", credential: "env:WEIR_TEST_VENDOR", model: guard, timeout: 300ms } }
    reason: flagged
  - id: open
    direction: inbound
    match: { moderation: { baseUrl: "${moderation}/open", categories: [violence], timeout: 300ms, onFailure: allow } }
    reason: violent
`

const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids, policies(urls.second)).replace(
      /(- \{ id: org_\w+, name: Test,)/,
      "$1 policies: [keys, words, leak, closed, open],",
    ),
})

interface Result {
  /** Mistral's moderations return only categories. */
  readonly flagged?: boolean
  readonly categories?: Readonly<Record<string, boolean>>
}
const harmless: Result = { flagged: false }

/** The reply of each endpoint; `undefined` never answers. */
const moderating =
  (said: { readonly closed?: Result | undefined; readonly open?: Result | undefined }): VendorScript =>
  (call) => {
    const result = call.path === "/closed/moderations" ? said.closed : said.open
    const input = call.body["input"]
    if (result === undefined) return
    call.head(200, { "content-type": "application/json" })
    call.end(JSON.stringify({ results: Array.isArray(input) ? input.map(() => result) : [] }))
  }

const saying = (text: string) => ({ ...hello, thread: [{ role: "user", blocks: [{ t: "text", v: text }] }] })
const answerOf = (word: string) => answering({ words: [word], inTokens: 1000, outTokens: 200 })

beforeEach(() => {
  gateway().vendor.script(answerOf("fine"))
  gateway().second.script(moderating({ closed: harmless, open: harmless }))
})

const metric = async (labels: string): Promise<number> => {
  const text = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith("weir_reviews_total") && labels.split(",").every((label) => line.includes(label)))
      ?.split(" ")[1] ?? 0,
  )
}

describe("inbound", () => {
  it.each([
    ["a rule", "my -----BEGIN RSA PRIVATE KEY-----", {}, "secret_material"],
    ["a keyword", "something FORBIDDEN", {}, "bad_word"],
    ["a moderation endpoint", "Well, hm", { closed: { flagged: true } }, "flagged"],
    ["an endpoint that tells categories alone", "Well, hm", { closed: { categories: { pii: true } } }, "flagged"],
    ["an endpoint that tells nothing", "Well, hm", { closed: {} }, "review_unavailable"],
    ["a category that denies", "Well, hm", { open: { flagged: true, categories: { violence: true } } }, "violent"],
    ["an endpoint that does not answer and must", "Well, hm", { closed: undefined }, "review_unavailable"],
  ] as const)("rule 5: %s denies before anything is held; nothing is billed", async (_what, text, said, reason) => {
    gateway().second.script(moderating({ closed: harmless, open: harmless, ...said }))
    const [calls, holds, balance] = [
      gateway().vendor.calls.length,
      (await holdsOf(gateway())).length,
      await balanceOf(gateway()),
    ]
    for (const stream of [false, true]) {
      const meta = { requestId: `denied-${reason}` }
      const error = await errorOf(await gateway().exchange({ ...saying(text), stream, meta }))
      expect(error).toMatchObject({ status: 403, code: "content_blocked", detail: { reason } })
      expect(JSON.stringify(error)).not.toContain(text)
    }
    expect(gateway().vendor.calls.length).toBe(calls)
    expect((await holdsOf(gateway())).length).toBe(holds)
    expect(await balanceOf(gateway())).toBe(balance)
  })

  const text = (v: string) => ({ t: "text", v })
  const schema = { type: "object", properties: { a: { type: "string", description: "forbidden" } } }
  const user = { role: "user", blocks: [text("Hi")] }
  const said = (block: object) => ({ thread: [user, { role: "assistant", blocks: [block] }, user] })
  const vendor = (v: string) => ({ t: "vendor", dialect: "anthropic", v })
  it.each<[string, object]>([
    [
      "an escape in a vendor's tool",
      {
        tools: [
          { kind: "vendor", dialect: "anthropic", v: String.raw`{"type":"bash_20250124","name":"\u0066orbidden"}` },
        ],
      },
    ],
    [
      "an escape in a block of a vendor's tool",
      said(vendor(String.raw`{"type":"server_tool_use","id":"a","name":"s","input":{"q":"\u0066orbidden"}}`)),
    ],
    ["the schema of an output", { params: { output: { schema } } }],
    [
      "the name of a file",
      { thread: [{ role: "user", blocks: [{ t: "file", mime: "application/pdf", name: "forbidden", data: "AAAA" }] }] },
    ],
    [
      "parts of a result",
      {
        thread: [
          user,
          { role: "assistant", blocks: [{ t: "tool_call", id: "a", name: "f", input: {} }] },
          { role: "tool", blocks: [{ t: "tool_result", id: "a", blocks: [text("forb"), text("idden")] }] },
        ],
      },
    ],
  ])("a word is found in %s", async (_what, more) => {
    for (const stream of [false, true]) {
      const error = await errorOf(await gateway().exchange({ ...hello, ...more, stream }))
      expect(error).toMatchObject({ code: "content_blocked", detail: { reason: "bad_word" } })
    }
  })

  it.each([
    ["what no policy objects to", {}],
    ["a category that denies nothing", { open: { flagged: true, categories: { harassment: true } } }],
    ["an endpoint that tells categories alone, and none", { closed: { categories: { pii: false } } }],
    ["an endpoint that does not answer and need not", { open: undefined }],
  ] as const)("lets pass %s", async (_what, said) => {
    gateway().second.script(moderating({ closed: harmless, open: harmless, ...said }))
    expect((await gateway().exchange(saying("hm"))).status).toBe(200)
  })

  it.each([
    ["a failure", 500, 1],
    ["fewer results than it was asked for", 200, 0],
  ])("takes %s of an endpoint for no answer", async (_, status, results) => {
    gateway().second.script((call) => {
      call.head(status, { "content-type": "application/json" })
      call.end(JSON.stringify({ results: Array.from({ length: results }, () => harmless) }))
    })
    const error = await errorOf(await gateway().exchange(saying("Well, hm")))
    expect(error).toMatchObject({ code: "content_blocked", detail: { reason: "review_unavailable" } })
  })

  it("calls the endpoint in its format, with its own credential, in parts for a long text", async () => {
    await (await gateway().exchange(saying("x".repeat(70_000)))).text()
    const call = gateway().second.calls.findLast(({ path }) => path === "/closed/moderations")
    expect(call?.headers["authorization"]).toBe("Bearer vendor-credential")
    expect(call?.body["model"]).toBe("guard")
    const input = call?.body["input"]
    expect(Array.isArray(input) && input.length).toBe(3)
  })
})

describe("outbound", () => {
  it("rule 5: content of a whole reply is withheld and its usage recorded; a retry gets the same reply", async () => {
    gateway().vendor.script(answerOf("this is CLASSIFIED"))
    const before = await balanceOf(gateway())
    const meta = { requestId: "withheld" }
    const first = await gateway().exchange({ ...hello, meta })
    expect(first.headers.get("x-svc-cost")).toBe("0.006")
    const error = await errorOf(first.clone())
    expect(error).toMatchObject({ status: 403, code: "content_blocked", detail: { reason: "leak" } })
    const text = await first.text()
    expect(text.toLowerCase()).not.toContain("classified")
    expect(before - (await balanceOf(gateway()))).toBe(60_000_000n)
    expect(await lastUsage(gateway())).toMatchObject({ out_tokens: 200n, estimated_reason: null })
    const again = await gateway().exchange({ ...hello, meta })
    expect(again.status).toBe(403)
    expect(again.headers.get("x-svc-idempotent-replay")).toBe("1")
    expect(again.headers.get("x-svc-cost")).toBe("0.006")
    expect(await again.text()).toBe(text)
  })

  it("streams go through, and are sampled when they are over", async () => {
    gateway().vendor.script(answerOf("this is CLASSIFIED"))
    const denied = await metric(`mode="sample",verdict="denied"`)
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(events.at(-1)?.event).toBe("t.close")
    await eventually(async () => (await metric(`mode="sample",verdict="denied"`)) === denied + 1)
  })
})

describe("sampling of streams", () => {
  const quiet = useGateway({
    ids: newTestIds(),
    config: { reviewStreamRate: 0 },
    catalogue: (urls) =>
      testCatalogue(urls, { ...ids, org: `${ids.org}q` }, policies(urls.second)).replace(
        /(- \{ id: org_\w+, name: Test,)/,
        "$1 policies: [leak],",
      ),
  })

  it("at rate 0 reviews none", async () => {
    quiet().vendor.script(answerOf("this is CLASSIFIED"))
    const before = await metric(`mode="sample"`)
    const response = await fetch(`${quiet().baseUrl}/t1/exchange`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-svc-key-id": ids.key, "x-svc-key": quiet().key },
      body: JSON.stringify({ ...hello, stream: true }),
    })
    expect((await readEvents(response)).at(-1)?.event).toBe("t.close")
    await sleep(50)
    expect(await metric(`mode="sample"`)).toBe(before)
    // This organisation has no policy with an endpoint.
    expect(quiet().second.calls).toEqual([])
  })
})
