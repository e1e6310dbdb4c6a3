/** The exchange over HTTP, by the contract's rules. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { inEach } from "../../../src/store/shards/shards.ts"
import { hello, readEvents } from "../../../src/testing/index.ts"
import { balanceOf, errorOf, lastUsage, replyOf, useGateway } from "../../support/gateway.ts"

const gateway = useGateway()

describe("a good exchange", () => {
  it("answers with blocks, stop and usage, and the billing headers say the same", async () => {
    const response = await gateway().exchange(hello)
    const body = await replyOf(response)
    expect(response.status).toBe(200)
    expect(body.blocks).toEqual([{ t: "text", v: "Hello there", cacheable: false }])
    expect(body.stop).toBe("end")
    expect(body.model).toBe("main")
    expect(body.requestId).toBe(response.headers.get("x-svc-request-id"))
    // 600 × 3 + 400 × 0.3 + 200 × 15 per million
    expect(body.usage).toMatchObject({
      inTokens: 600,
      outTokens: 200,
      cacheReadTokens: 400,
      cacheWriteTokens: 0,
      cost: "0.00492",
      currency: "USD",
      cacheNetSaving: "0.00108",
    })
    expect(body.usage).not.toHaveProperty("estimatedReason")
    expect(response.headers.get("x-svc-cost")).toBe("0.00492")
    expect(response.headers.get("x-svc-balance")).toBe(body.usage.balance)
    expect(response.headers.get("x-svc-currency")).toBe("USD")
  })

  it.each(["main", "claude", "responses", "gemini"])(
    "streams %s: t.open, deltas, t.usage, t.close, with ids from 0",
    async (model) => {
      const response = await gateway().exchange({
        ...hello,
        model,
        stream: true,
        meta: { sessionId: "01J0000000000000000000000A" },
      })
      expect(response.headers.get("content-type")).toContain("text/event-stream")
      const events = await readEvents(response)
      expect(events.map(({ event }) => event)).toEqual([
        "t.open",
        "t.delta",
        "t.delta",
        "t.delta",
        "t.usage",
        "t.close",
      ])
      expect(events.map(({ id }) => id)).toEqual(events.map((_, at) => String(at)))
      expect(events[0]?.data).toMatchObject({ model, protocol: "twp/1", sessionId: "01J0000000000000000000000A" })
      expect(events[4]?.data).toEqual(events[5]?.event === "t.close" ? events[5].data.usage : undefined)
    },
  )

  it.each(["main", "claude", "responses", "gemini"])(
    "lesson 9: a streamed and a whole reply of %s have the same blocks and cost",
    async (model) => {
      const whole = await replyOf(await gateway().exchange({ ...hello, model }))
      const events = await readEvents(await gateway().exchange({ ...hello, model, stream: true }))
      const text = events
        .map((event) => (event.event === "t.delta" && event.data.t === "text" ? event.data.v : ""))
        .join("")
      const close = events.at(-1)
      expect(text).toBe(whole.blocks[0]?.t === "text" && whole.blocks[0].v)
      expect(close?.event === "t.close" && close.data.usage.cost).toBe(whole.usage.cost)
      expect(whole.usage.cost).toBe("0.00492")
    },
  )

  it("writes a usage record with the key, the purpose and the session", async () => {
    const meta = { purpose: "summary", sessionId: "01J0000000000000000000000A" }
    const { requestId } = await replyOf(await gateway().exchange({ ...hello, meta }))
    expect(await lastUsage(gateway())).toMatchObject({
      ref: requestId,
      key_id: gateway().keyId,
      org_id: gateway().orgId,
      purpose: "summary",
      session_id: "01J0000000000000000000000A",
      model: "main",
      vendor: "openai",
      in_tokens: 600n,
      estimated_reason: null,
    })
  })

  it("clamps by the model's profile and warns once", async () => {
    const params = { maxTokens: 5000, temperature: 1.7 }
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true, params }))
    expect(events[1]).toMatchObject({
      event: "t.warn",
      data: { code: "params_clamped", detail: { params: ["maxTokens", "temperature"] } },
    })
    expect(gateway().vendor.calls.at(-1)?.body).toMatchObject({ max_completion_tokens: 2000, temperature: 1 })
  })

  it("lets a prompt that just fits the context window pass", async () => {
    const params = { promptTokensEstimate: 9500, maxTokens: 500 }
    expect((await gateway().exchange({ ...hello, params })).status).toBe(200)
  })
})

describe("a refused exchange", () => {
  const cases: ReadonlyArray<readonly [rule: string, body: unknown, expected: object]> = [
    ["nonsense is bad_request", "{nonsense", { status: 400, code: "bad_request" }],
    [
      "an unknown field is bad_request",
      { ...hello, seed: 1 },
      { status: 400, code: "bad_request", detail: { issues: [{ path: "seed" }] } },
    ],
    ["an unknown param is bad_request", { ...hello, params: { topK: 1 } }, { status: 400, code: "bad_request" }],
    [
      "a malformed purpose is bad_request",
      { ...hello, meta: { purpose: "Not Well" } },
      { status: 400, code: "bad_request" },
    ],
    ["an empty thread is bad_request", { ...hello, thread: [] }, { status: 400, code: "bad_request" }],
    [
      "an unknown handle is model_not_authorized",
      { ...hello, model: "nope" },
      { status: 403, code: "model_not_authorized" },
    ],
    [
      "a handle outside the surface is refused identically",
      { ...hello, model: "foreign" },
      { status: 403, code: "model_not_authorized" },
    ],
    [
      "a direct-mode handle is refused identically",
      { ...hello, model: "direct" },
      { status: 403, code: "model_not_authorized" },
    ],
    [
      "a model without a price is pricing_guard_tripped",
      { ...hello, model: "unpriced" },
      { status: 503, code: "pricing_guard_tripped" },
    ],
    [
      "a prompt that does not fit is context_window_exceeded, with what does not fit",
      { ...hello, params: { promptTokensEstimate: 9501, maxTokens: 500 } },
      {
        status: 400,
        code: "context_window_exceeded",
        detail: { promptTokensEstimate: 9501, maxTokens: 500, contextWindow: 10000 },
      },
    ],
    [
      "an image for a model without images is image_not_supported",
      { model: "plain", thread: [{ role: "user", blocks: [{ t: "image", mime: "image/png", data: "AAAA" }] }] },
      { status: 400, code: "image_not_supported" },
    ],
    [
      "a tool for a model without tools is bad_request, with the capability",
      { ...hello, model: "plain", tools: [{ name: "f", inputSchema: {} }] },
      { status: 400, code: "bad_request", detail: { capability: "tools" } },
    ],
    [
      "what a dialect has no words for is bad_request, with the capability",
      {
        ...hello,
        thread: [{ role: "user", blocks: [{ t: "file", mime: "application/pdf", url: "https://example.com/a.pdf" }] }],
      },
      { status: 400, code: "bad_request", detail: { capability: "file_url" } },
    ],
  ]
  it.each(cases)("%s, nothing is billed and no vendor is called", async (_rule, body, expected) => {
    const { vendor } = gateway()
    const before = await balanceOf(gateway())
    const calls = vendor.calls.length
    expect(await errorOf(await gateway().exchange(body))).toMatchObject(expected)
    expect(await balanceOf(gateway())).toBe(before)
    expect(vendor.calls.length).toBe(calls)
  })

  it("a refused handle gets the same reply whether it exists or not", async () => {
    const messages = await Promise.all(
      ["nope", "foreign", "direct"].map(
        async (model) => (await errorOf(await gateway().exchange({ ...hello, model }))).message,
      ),
    )
    expect(new Set(messages).size).toBe(1)
  })

  it("a body over the limit is payload_too_large", async () => {
    const huge = `{"model":"${"x".repeat(33 * 1024 * 1024)}"}`
    expect(await errorOf(await gateway().exchange(huge))).toMatchObject({ status: 413, code: "payload_too_large" })
  })

  it("an unknown path is not_found in the envelope", async () => {
    const response = await fetch(`${gateway().baseUrl}/t1/nothing`)
    expect(await errorOf(response)).toMatchObject({ status: 404, code: "not_found" })
  })
})

describe("one settlement for every entry point", () => {
  it("lesson 13: streamed or not, what was charged is what the records say and what the balance lost", async () => {
    const before = await balanceOf(gateway())
    for (const stream of [false, true]) {
      for (const model of ["main", "claude"]) await (await gateway().exchange({ ...hello, model, stream })).text()
    }
    // Four exchanges at 0.00492 each.
    expect(before - (await balanceOf(gateway()))).toBe(4n * 49_200_000n)
    const rows = await Effect.runPromise(
      gateway().sql<{ spent: string; recorded: string }>`
        select (select sum(amount) from transfers where kind = 'charge' and org_id = ${gateway().orgId})::text as spent,
          (select sum(cost) from usage_records where org_id = ${gateway().orgId})::text as recorded`,
    )
    expect(rows[0]?.spent).toBe(rows[0]?.recorded)
  })
})

describe("a store that fails", () => {
  it("is internal_error, retryable, with a fixed message; the exchange works again with the store", async () => {
    const { shards, vendor } = gateway()
    const calls = vendor.calls.length
    const rename = (from: string, to: string) =>
      Effect.runPromise(
        inEach(
          shards,
          ({ sql, books }) => sql`alter function ${books}${sql.literal(from)} rename to ${sql.literal(to)}`,
        ),
      )
    await rename("ledger_spent", "ledger_spent_away")
    const response = await gateway().exchange({ ...hello, meta: { requestId: "while-away" } })
    await rename("ledger_spent_away", "ledger_spent")
    expect(response.headers.get("retry-after")).toBe("1")
    expect(await errorOf(response)).toMatchObject({
      status: 500,
      code: "internal_error",
      message: "The service could not complete the request",
      detail: { retryable: true },
    })
    expect(vendor.calls.length).toBe(calls)
    expect((await gateway().exchange({ ...hello, meta: { requestId: "while-away" } })).status).toBe(200)
  })
})
