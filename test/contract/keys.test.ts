/** Application keys, signatures and rate windows over HTTP. */
import { randomBytes, randomUUID } from "node:crypto"
import { describe, expect, it } from "vitest"
import { sign } from "../../src/identity/signature.ts"
import { sha256 } from "../../src/secrets.ts"
import { answering, hello, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, useGateway } from "../support/gateway.ts"

const key = "wk_test_secret"
const ids = { org: "org_keys", app: "app_keys", key: "key_keys" }
const ref = `secret: "env:WEIR_TEST_KEY"`
const apps = `
  - { id: app_disabled, org: org_keys, disabled: true }
  - { id: app_elsewhere, org: org_keys, ipAllow: ["203.0.113.0/24"] }
  - { id: app_here, org: org_keys, ipAllow: ["127.0.0.0/8", "::1"] }
  - { id: app_licensed, org: org_keys, licenceRequired: true }
  - { id: app_signed, org: org_keys, requireSignature: true }
  - { id: app_slow, org: org_keys, quota: { rpm: 2 } }
  - { id: app_limited, org: org_limited }
  - { id: app_poor, org: org_poor }
`
const keys = `
  - { id: key_disabled, app: app_disabled, ${ref} }
  - { id: key_off, app: app_here, ${ref}, disabled: true }
  - { id: key_elsewhere, app: app_elsewhere, ${ref} }
  - { id: key_here, app: app_here, ${ref} }
  - { id: key_licensed, app: app_licensed, ${ref} }
  - { id: key_signed, app: app_signed, ${ref} }
  - { id: key_slow, app: app_slow, ${ref} }
  - { id: key_limited, app: app_limited, ${ref} }
  - { id: key_poor, app: app_poor, ${ref} }
  - { id: key_expired, app: app_here, ${ref}, expiresAt: 2020-01-01T00:00:00Z }
  - { id: key_control, app: app_here, ${ref}, scopes: [control] }
`
const gateway = useGateway({
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace("\nkeys:\n", `${apps}\nkeys:${keys}`)
      .replace("\nplans:\n", "\nplans:\n  - { id: limited, perMinute: 3 }\n")
      .replace(
        "\norgs:\n",
        "\norgs:\n  - { id: org_limited, name: L, plan: limited, currency: USD, models: [main] }\n  - { id: org_poor, name: P, currency: USD, models: [claude] }\n",
      )
      .replace(
        "\ntopups:\n",
        `\ntopups:\n  - { id: limited-start, org: org_limited, amount: "10" }\n  - { id: poor-start, org: org_poor, amount: "10" }\n`,
      ),
})

const call = (keyId: string, secret = key, headers: Record<string, string> = {}) =>
  fetch(`${gateway().baseUrl}/t1/exchange`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-svc-key-id": keyId, "x-svc-key": secret, ...headers },
    body: JSON.stringify(hello),
  })

describe("an application key", () => {
  it.each([
    ["is unknown", "key_nobody", key],
    ["has another secret", ids.key, "wk_wrong"],
    ["has an empty secret", ids.key, " "],
    ["has expired", "key_expired", key],
    ["lacks the runtime scope", "key_control", key],
  ])("that %s is app_key_invalid", async (_why, keyId, secret) => {
    expect(await errorOf(await call(keyId, secret))).toMatchObject({
      status: 401,
      code: "app_key_invalid",
      message: "The application key is not valid",
    })
  })

  it("without its headers is app_key_invalid", async () => {
    const response = await fetch(`${gateway().baseUrl}/t1/exchange`, { method: "POST", body: "{}" })
    expect(await errorOf(response)).toMatchObject({ status: 401, code: "app_key_invalid" })
  })

  it.each([
    ["of a disabled application", "key_disabled", 403, "app_disabled"],
    ["that is disabled itself", "key_off", 403, "app_disabled"],
    ["used from an address off the list", "key_elsewhere", 403, "app_ip_denied"],
    ["of an application without its licence", "key_licensed", 403, "license_required"],
    ["of an application that requires signatures, unsigned", "key_signed", 401, "signature_invalid"],
  ])("%s is refused", async (_what, keyId, status, code) => {
    expect(await errorOf(await call(keyId))).toMatchObject({ status, code })
  })

  it("used from an address on the list passes", async () => {
    expect((await call("key_here")).status).toBe(200)
  })

  it("is stored as a hash only", async () => {
    const { Effect } = await import("effect")
    const rows = await Effect.runPromise(gateway().sql`select app_keys::text as row from app_keys`)
    expect(JSON.stringify(rows)).not.toContain(key)
  })
})

describe("a signed request", () => {
  const now = () => String(Math.floor(Date.now() / 1000))
  const signed = (parts: { ts?: string; nonce?: string; target?: string; body?: string; secret?: string } = {}) => {
    const {
      ts = now(),
      nonce = randomUUID(),
      target = "/t1/exchange",
      body = JSON.stringify(hello),
      secret = key,
    } = parts
    return {
      "x-svc-ts": ts,
      "x-svc-nonce": nonce,
      "x-svc-sign": sign(sha256(secret), { method: "POST", target, ts, nonce, body: Buffer.from(body) }),
    }
  }

  it("passes, and its nonce passes once", async () => {
    const headers = signed()
    expect((await call("key_signed", key, headers)).status).toBe(200)
    expect(await errorOf(await call("key_signed", key, headers))).toMatchObject({ status: 401, code: "nonce_replayed" })
  })

  it("of another key may have the same nonce", async () => {
    const nonce = randomUUID()
    expect((await call("key_signed", key, signed({ nonce }))).status).toBe(200)
    expect((await call("key_here", key, signed({ nonce }))).status).toBe(200)
  })

  it.each([
    ["299 s old passes", () => signed({ ts: String(Number(now()) - 299) }), 200],
    ["302 s old is refused", () => signed({ ts: String(Number(now()) - 302) }), 401],
    ["302 s early is refused", () => signed({ ts: String(Number(now()) + 302) }), 401],
    ["with a timestamp that is none is refused", () => ({ ...signed(), "x-svc-ts": "soon" }), 401],
    ["with a nonce of 15 characters is refused", () => signed({ nonce: "x".repeat(15) }), 401],
    ["with a nonce of 16 characters passes", () => signed({ nonce: randomBytes(8).toString("hex") }), 200],
    ["with a nonce of 129 characters is refused", () => signed({ nonce: "x".repeat(129) }), 401],
    ["over another body is refused", () => signed({ body: "{}" }), 401],
    ["over another path is refused", () => signed({ target: "/t1/exchange?x=1" }), 401],
    ["with another secret is refused", () => signed({ secret: "other" }), 401],
    ["in upper case is refused", () => ({ ...signed(), "x-svc-sign": signed()["x-svc-sign"].toUpperCase() }), 401],
    ["without its timestamp is refused", () => ({ ...signed(), "x-svc-ts": "" }), 401],
  ])("%s", async (_what, headers, status) => {
    const response = await call("key_here", key, headers())
    expect(response.status).toBe(status)
    if (status === 401) expect((await errorOf(response)).code).toBe("signature_invalid")
  })

  it.each(["x-svc-ts", "x-svc-nonce", "x-svc-sign"])(
    "without %s but with the others is signature_invalid",
    async (missing) => {
      const headers: Record<string, string> = signed()
      delete headers[missing]
      expect(await errorOf(await call("key_here", key, headers))).toMatchObject({
        status: 401,
        code: "signature_invalid",
      })
    },
  )
})

describe("a signed request that is sent again", () => {
  const gemini = "/gemini/v1beta/models/main:generateContent"
  it.each([
    ["POST", "/t1/exchange"],
    ["POST", "/t1/embeddings"],
    ["POST", "/t1/images"],
    ["POST", "/t1/videos"],
    ["GET", "/t1/videos/x"],
    ["GET", "/t1/videos/x/content"],
    ["DELETE", "/t1/videos/x"],
    ["POST", "/t1/heartbeat"],
    ["DELETE", "/t1/sessions/x"],
    ["GET", "/t1/config"],
    ["GET", "/t1/budgets"],
    ["POST", "/t1/handshake"],
    ["POST", "/t1/usage"],
    ["POST", "/v1/app-tokens"],
    ["POST", "/openai/v1/chat/completions"],
    ["POST", "/openai/v1/responses/input_tokens"],
    ["POST", "/openai/v1/realtime/client_secrets"],
    ["GET", "/openai/v1/models"],
    ["GET", "/openai/v1/models/main"],
    ["GET", "/openai/v1/videos/x"],
    ["GET", "/openai/v1/videos/x/content"],
    ["DELETE", "/openai/v1/videos/x"],
    ["GET", "/anthropic/v1/models"],
    ["POST", "/anthropic/v1/messages/count_tokens"],
    ["GET", "/gemini/v1beta/models"],
    ["POST", gemini],
    ["POST", gemini.replace("generateContent", "countTokens")],
  ])("is refused: %s %s", async (method, path) => {
    const [ts, nonce] = [String(Math.floor(Date.now() / 1000)), randomUUID()]
    const body = method === "POST" ? "{}" : ""
    const parts = { method, target: path, ts, nonce, body: Buffer.from(body) }
    const send = async () => {
      const reply = await fetch(`${gateway().baseUrl}${path}`, {
        method,
        headers: {
          "content-type": "application/json",
          "x-svc-key-id": "key_signed",
          "x-svc-key": key,
          "x-svc-ts": ts,
          "x-svc-nonce": nonce,
          "x-svc-sign": sign(sha256(key), parts),
        },
        ...(body !== "" && { body }),
      })
      return { status: reply.status, text: await reply.text() }
    }
    expect((await send()).status).not.toBe(401)
    const again = await send()
    // Other APIs have an error type of their own for it.
    expect(again.status).toBe(401)
    expect(again.text).toMatch(/nonce/)
  })
})

describe("rate windows", () => {
  it("the application's quota.rpm: rate_limited with detail.scope = app and Retry-After", async () => {
    expect((await call("key_slow")).status).toBe(200)
    expect((await call("key_slow")).status).toBe(200)
    const refused = await call("key_slow")
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    // A window slides by parts of 600 ms, and one of them more is kept.
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(61)
    expect(await errorOf(refused)).toMatchObject({ status: 429, code: "rate_limited", detail: { scope: "app" } })
  })

  it("the plan's perMinute for each key: rate_limited with Retry-After; nonsense counts as well", async () => {
    const nonsense = await fetch(`${gateway().baseUrl}/t1/exchange`, {
      method: "POST",
      headers: { "x-svc-key-id": "key_limited", "x-svc-key": key },
      body: "{",
    })
    expect(nonsense.status).toBe(400)
    await call("key_limited")
    await call("key_limited")
    const refused = await call("key_limited")
    expect(refused.headers.has("retry-after")).toBe(true)
    expect(await errorOf(refused)).toMatchObject({ status: 429, code: "rate_limited" })
  })
})

describe("an empty balance", () => {
  it("is insufficient_balance before any vendor is called", async () => {
    const calls = gateway().vendor.calls.length
    // Four million tokens at 3 a million cost more than this organisation's balance of 10.
    const big = { ...hello, model: "claude", params: { promptTokensEstimate: 4_000_000 } }
    expect(await errorOf(await gateway().exchange(big, { headers: { "x-svc-key-id": "key_poor" } }))).toMatchObject({
      status: 402,
      code: "insufficient_balance",
    })
    expect(gateway().vendor.calls.length).toBe(calls)
  })
})

describe("a plan's dailyTokens", () => {
  const metered = useGateway({
    catalogue: (urls) => testCatalogue(urls, ids).replace("perMinute: 100000", "perMinute: 100000, dailyTokens: 3000"),
  })
  const ask = (maxTokens: number, body: object = {}) =>
    metered().exchange(
      { ...hello, ...body, params: { maxTokens, promptTokensEstimate: 10 } },
      { headers: { "x-svc-key-id": ids.key } },
    )

  it("is quota_exceeded with limit, used and resetAt; a failed turn gives back what it reserved (lesson 12)", async () => {
    // One answer is 1,200 tokens by the vendor's count.
    expect((await ask(500)).status).toBe(200)
    metered().vendor.script((call) => call.reset())
    expect((await ask(1500)).status).toBe(502)
    metered().vendor.script(answering({ words: ["x"], inTokens: 1000, outTokens: 200 }))
    expect((await ask(1500)).status).toBe(200)
    const refused = await ask(1500)
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    const error = await errorOf(refused)
    expect(error).toMatchObject({ status: 429, code: "quota_exceeded", detail: { limit: 3000, used: 2400 } })
    expect(new Date(String(error.detail?.["resetAt"])).toISOString()).toMatch(/T16:00:00\.000Z$/)
    expect((await ask(500)).status).toBe(200)
  })
})

describe("SVC_API_TWP_REQUIRE_SIGNATURE=1", () => {
  const strict = useGateway({ config: { requireSignature: true } })

  it("refuses every unsigned request, and signed ones pass", async () => {
    expect(await errorOf(await strict().exchange(hello))).toMatchObject({ status: 401, code: "signature_invalid" })
    const body = JSON.stringify(hello)
    const ts = String(Math.floor(Date.now() / 1000))
    const parts = { method: "POST", target: "/t1/exchange", ts, nonce: randomUUID(), body: Buffer.from(body) }
    const headers = { "x-svc-ts": ts, "x-svc-nonce": parts.nonce, "x-svc-sign": sign(sha256(strict().key), parts) }
    expect((await strict().exchange(body, { headers })).status).toBe(200)
  })
})
