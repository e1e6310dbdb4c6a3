/** Consequences of a vendor's refusal for other targets, for its own, and for the client: the fault decides. */
import { Effect, Schema } from "effect"
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { Targets } from "../../src/protocol/control/activity.ts"
import { answering, hello, newTestIds, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"
import { png } from "../support/media-samples.ts"

const ids = newTestIds()
const answer = { words: ["Hello"], inTokens: 10, outTokens: 2 }

/** Each case has a pool of its own: the health of a target is kept. */
const chats = ["p401", "p402", "p403", "p404", "p408", "quota", "billing", "p400", "p413", "p422", "other", "next"]
const more = ["next-filter", "filtered", "busy", "all-busy", "half-busy", "again", "sdk", "seen", "told"]
const pooled = [...chats, ...more]
const chatsOf = pooled.map(
  (handle) =>
    `  - { handle: ${handle}, maxOutput: 100${handle.startsWith("next") ? ", tryNext: true" : ""}, targets: [{ vendor: openai, model: ${handle}-a, tier: 1 }, { vendor: second, model: ${handle}-b, tier: 2 }] }`,
)
const kinds = ["embed", "draw", "draw-gemini"]

const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids)
    .replace(
      "models:\n",
      `models:
${chatsOf.join("\n")}
  - { handle: alone, maxOutput: 100, targets: [{ vendor: openai, model: alone }] }
  - { handle: alone-busy, maxOutput: 100, targets: [{ vendor: openai, model: alone-busy }] }
  - { handle: embed, kind: embedding, targets: [{ vendor: openai, model: e, tier: 1 }, { vendor: second, model: e, tier: 2 }] }
  - { handle: draw, kind: image, targets: [{ vendor: openai, model: gpt-image-1, tier: 1 }, { vendor: second, model: gpt-image-1, tier: 2 }] }
  - { handle: draw-gemini, kind: image, targets: [{ vendor: gemini, model: gemini-image, tier: 1 }, { vendor: second, model: gpt-image-1, tier: 2 }] }
`,
    )
    .replace(
      "prices:\n",
      `prices:\n${[...pooled, "alone", "alone-busy", "embed"]
        .map((model) => `  - { model: ${model}, currency: USD, input: "3", output: "15", from: 2026-01-01 }\n`)
        .join("")}${["draw", "draw-gemini"]
        .map((model) => `  - { model: ${model}, currency: USD, dims: { images: "40000" }, from: 2026-01-01 }\n`)
        .join("")}`,
    )
    .replace("models: [main,", `models: [${[...pooled, ...kinds].join(", ")}, alone, alone-busy, main,`)

const gateway = useGateway({ catalogue, ids })

const refusing =
  (status: number, error: object, headers: Record<string, string> = {}): VendorScript =>
  (call) => {
    call.head(status, { "content-type": "application/json", ...headers })
    call.end(JSON.stringify({ error }))
  }
const json =
  (body: object): VendorScript =>
  (call) => {
    call.head(200, { "content-type": "application/json" })
    call.end(JSON.stringify(body))
  }

const ask = (model: string, rest: object = {}) => gateway().exchange({ ...hello, model, ...rest })
const counts = () => ({ first: gateway().vendor.calls.length, second: gateway().second.calls.length })
const callsSince = (before: ReturnType<typeof counts>) => {
  const now = counts()
  return [now.first - before.first, now.second - before.second]
}
const targetOf = async (model: string) => {
  const operator = { "x-svc-admin-key": gateway().adminKey }
  const response = await gateway().call("GET", "/v1/admin/targets", undefined, operator)
  return readTargets(await response.json()).data.find((target) => target.model === model)
}
const readTargets = Schema.decodeUnknownSync(Targets)

const openai = () =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${gateway().keyId}~${gateway().key}` })
const say = (model: string) => openai().chat.completions.create({ model, messages: [{ role: "user", content: "Hi" }] })
const failureOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  return error instanceof OpenAI.APIError ? error : undefined
}

describe("a target at fault", () => {
  it.each<[string, VendorScript, string]>([
    ["p401", refusing(401, { code: "invalid_api_key" }), "credential"],
    ["p402", refusing(402, { message: "Insufficient Balance" }), "credit"],
    ["p403", refusing(403, { message: "no" }), "permission"],
    ["p404", refusing(404, { code: "model_not_found" }), "model"],
    ["quota", refusing(429, { code: "insufficient_quota" }), "credit"],
    ["billing", refusing(400, { code: "billing_hard_limit_reached" }), "credit"],
  ])("%s: the next answers, it is left alone at once, and operators see why", async (model, script, reason) => {
    gateway().vendor.script(script)
    gateway().second.script(answering(answer))
    const before = counts()
    for (let at = 0; at < 5; at++) expect((await ask(model)).status).toBe(200)
    expect(callsSince(before)).toEqual([1, 5])
    const target = await targetOf(`${model}-a`)
    expect(target).toMatchObject({ state: "cooling down", cause: "refused", reason })
    const seconds = (Date.parse(target?.until ?? "") - Date.now()) / 1000
    expect(seconds).toBeGreaterThan(20)
    expect(seconds).toBeLessThanOrEqual(30)
  })

  it("is asked again as soon as the catalogue has another credential", async () => {
    gateway().vendor.script(refusing(401, { code: "invalid_api_key" }))
    gateway().second.script(answering(answer))
    expect((await ask("again")).status).toBe(200)
    gateway().vendor.script(answering(answer))
    expect((await ask("again")).headers.get("x-svc-warnings")).toContain("vendor_failover")
    const text = catalogue({ vendor: gateway().vendor.url, second: gateway().second.url })
    const changed = text.replace("handle: again, maxOutput: 100", "handle: again, maxOutput: 101")
    await Effect.runPromise(gateway().catalogue.apply(changed))
    expect((await ask("again")).headers.get("x-svc-warnings")).toBeNull()
    expect(await targetOf("again-a")).toMatchObject({ state: "healthy" })
  })

  it("is asked by every call where there is no other, and told as final", async () => {
    gateway().vendor.script(refusing(401, { code: "invalid_api_key" }))
    const before = counts()
    for (let at = 0; at < 3; at++) {
      expect(await errorOf(await ask("alone"))).toMatchObject({
        status: 502,
        code: "upstream_error",
        detail: { upstreamStatus: 401 },
      })
    }
    expect(callsSince(before)).toEqual([3, 0])
    gateway().vendor.script(answering(answer))
    expect((await ask("alone")).status).toBe(200)
    expect(await targetOf("alone")).toMatchObject({ state: "healthy" })
  })

  it("of another kind of call: the next answers too", async () => {
    gateway().vendor.script(refusing(401, { code: "invalid_api_key" }))
    gateway().second.script(json({ data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 1 } }))
    expect((await gateway().call("POST", "/t1/embeddings", { model: "embed", input: ["x"] })).status).toBe(200)
  })
})

describe("a request at fault", () => {
  it.each<[string, number]>([
    ["p400", 400],
    ["p413", 413],
    ["p422", 422],
    ["other", 418],
  ])("%s: no other target is asked, and none cools down", async (model, status) => {
    gateway().vendor.script(refusing(status, { code: "unknown_parameter" }))
    gateway().second.script(answering(answer))
    const before = counts()
    expect(await errorOf(await ask(model))).toMatchObject({
      status: 502,
      code: "upstream_error",
      detail: { upstreamStatus: status },
    })
    expect(callsSince(before)).toEqual([1, 0])
    expect(await targetOf(`${model}-a`)).toMatchObject({ state: "healthy" })
  })

  it("goes to the next target where the model says so", async () => {
    gateway().vendor.script(refusing(400, { code: "unknown_parameter" }))
    gateway().second.script(answering(answer))
    expect((await ask("next")).status).toBe(200)
  })
})

describe("the moment", () => {
  it("a timeout of the vendor's own is followed by the next target", async () => {
    gateway().vendor.script(refusing(408, { message: "slow" }))
    gateway().second.script(answering(answer))
    expect((await ask("p408")).status).toBe(200)
  })

  it("a busy target without a word of a wait is left alone for a second", async () => {
    gateway().vendor.script(refusing(429, { code: "rate_limit_exceeded" }))
    gateway().second.script(answering(answer))
    expect((await ask("busy")).status).toBe(200)
    expect(await targetOf("busy-a")).toMatchObject({ state: "cooling down", cause: "busy" })
    gateway().vendor.script(answering(answer))
    await eventually(async () => (await ask("busy")).headers.get("x-svc-warnings") === null)
  })

  it("all busy: Retry-After of the earliest; other APIs' clients get 429", async () => {
    gateway().vendor.script(
      refusing(429, {}, { "x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0" }),
    )
    gateway().second.script(refusing(429, {}, { "retry-after": "50" }))
    const response = await ask("all-busy")
    expect(response.status).toBe(502)
    expect(response.headers.get("retry-after")).toBe("50")
    const before = counts()
    const error = await failureOf(
      openai().chat.completions.create(
        { model: "all-busy", messages: [{ role: "user", content: "Hi" }] },
        { maxRetries: 0 },
      ),
    )
    expect(error?.status).toBe(429)
    expect(error).toMatchObject({ code: "upstream_error", type: "rate_limit_error" })
    expect(Number(error?.headers?.get("retry-after"))).toBeGreaterThan(40)
    expect(callsSince(before)).toEqual([0, 0])
  })

  it.each([
    ["/anthropic/v1/messages", { max_tokens: 5 }, { error: { type: "rate_limit_error" } }],
    [
      "/gemini/v1beta/models/all-busy:generateContent",
      { contents: [{ parts: [{ text: "Hi" }] }] },
      { error: { code: 429, status: "RESOURCE_EXHAUSTED" } },
    ],
  ])("%s tells it as its API does", async (path, body, told) => {
    const asked = path.startsWith("/gemini")
      ? body
      : { ...body, model: "all-busy", messages: [{ role: "user", content: "Hi" }] }
    const credential = {
      authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
      "x-svc-key-id": undefined,
      "x-svc-key": undefined,
    }
    const response = await gateway().call("POST", path, asked, credential)
    expect([response.status, await response.json()]).toMatchObject([429, told])
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(30)
  })

  it("one busy and one refused: the wait is that of the busy one", async () => {
    gateway().vendor.script(refusing(429, {}, { "retry-after": "40" }))
    gateway().second.script(refusing(401, { code: "invalid_api_key" }))
    const response = await ask("half-busy")
    expect(response.headers.get("retry-after")).toBe("40")
    const before = counts()
    expect((await ask("half-busy")).headers.get("retry-after")).toMatch(/^(39|40)$/)
    expect(callsSince(before)).toEqual([0, 0])
  })

  it("a single target that was busy once is asked again at once; after that its wait is told", async () => {
    gateway().vendor.script(refusing(429, { code: "rate_limit_exceeded" }))
    expect((await ask("alone-busy")).headers.get("retry-after")).toBe("1")
    gateway().vendor.script(answering(answer))
    expect((await ask("alone-busy")).status).toBe(200)
    gateway().vendor.script(refusing(429, { code: "rate_limit_exceeded" }))
    const before = counts()
    const waits = []
    for (let at = 0; at < 10; at++) waits.push((await ask("alone-busy")).headers.get("retry-after"))
    expect(waits.slice(0, 2)).toEqual(["1", "2"])
    expect(callsSince(before)[0]).toBeLessThan(5)
  })
})

describe("OpenAI's SDK with its defaults", () => {
  it.each<[number, object]>([
    [400, { code: "unknown_parameter" }],
    [400, { code: "content_policy_violation" }],
    [401, { code: "invalid_api_key" }],
    [402, {}],
    [403, {}],
    [404, { code: "model_not_found" }],
    [413, {}],
    [422, {}],
  ])("asks a vendor once that refuses for good: %i %o", async (status, error) => {
    gateway().vendor.script(refusing(status, error))
    const before = counts()
    expect(await failureOf(say("alone"))).toBeDefined()
    expect(callsSince(before)).toEqual([1, 0])
  })

  it("asks again where the vendor failed", async () => {
    await Promise.resolve(gateway().vendor.script(refusing(500, {})))
    const before = counts()
    expect((await failureOf(say("plain")))?.status).toBe(502)
    expect(callsSince(before)).toEqual([3, 0])
  })
})

describe("a vendor's content filter", () => {
  it("is told as that, and no other target is asked, whatever the model says", async () => {
    gateway().vendor.script(
      refusing(400, { code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } }),
    )
    gateway().second.script(answering(answer))
    const before = counts()
    for (const model of ["filtered", "next-filter"]) {
      expect(await errorOf(await ask(model))).toMatchObject({
        status: 403,
        code: "content_blocked",
        detail: { reason: "vendor_filter" },
      })
    }
    for (let at = 0; at < 6; at++) await ask("filtered")
    expect(callsSince(before)).toEqual([8, 0])
    expect(await targetOf("filtered-a")).toMatchObject({ state: "healthy" })
  })

  it("inside a stream ends it as that", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(`data: ${JSON.stringify({ error: { code: "content_filter", message: "no" } })}\n\n`)
      call.end()
    })
    const before = counts()
    expect(await errorOf(await ask("filtered", { stream: true }))).toMatchObject({ code: "content_blocked" })
    expect(callsSince(before)).toEqual([1, 0])
  })

  it.each<[string, string, VendorScript]>([
    ["a prompt at OpenAI", "draw", refusing(400, { code: "moderation_blocked", type: "image_generation_user_error" })],
    ["a picture at Gemini", "draw-gemini", json({ candidates: [{ finishReason: "IMAGE_SAFETY", content: {} }] })],
    ["a prompt at Gemini", "draw-gemini", json({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } })],
  ])("of %s: the SDK asks once, and no other target draws it", async (_what, model, script) => {
    gateway().vendor.script(script)
    gateway().second.script(json({ data: [{ b64_json: png.toString("base64") }] }))
    const before = counts()
    const error = await failureOf(openai().images.generate({ model, prompt: "x" }))
    expect(error).toMatchObject({ status: 403, code: "content_blocked" })
    expect(callsSince(before)).toEqual([1, 0])
  })
})
