/** Models and rates at each subject, over HTTP: the intersection of lists, and limits that a second key does not escape. */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { Bundle } from "../../src/protocol/control/bundle.ts"
import { answering, hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const ref = `secret: "env:WEIR_TEST_KEY"`
const at = (name: string) => `${name}.${tag}@example.com`

/** Applications, each with a limit of its own, and keys of them. */
const apps: Readonly<Record<string, string>> = {
  narrow: "models: [main, claude, plain]",
  nothing: "models: []",
  tagged: 'models: ["tag:cheap", "cla*"]',
  requests: "rates: [{ requests: 3, per: 60s }]",
  tokens: "rates: [{ tokens: 3000, per: 60s }]",
  cached: "rates: [{ tokens: 3000, per: 60s, cached: free }]",
  calls: "rates: [{ concurrent: 2 }]",
  some: "rates: [{ requests: 1, per: 60s, model: cla* }]",
  streams: "rates: [{ tokens: 3000, per: 60s }]",
  minting: "endUsers: { models: [plain], rates: [{ requests: 2, per: 60s }] }",
}
const keys = Object.keys(apps).flatMap((app) => [
  `  - { id: key_${app}, app: app_${app}, ${ref} }`,
  `  - { id: key2_${app}, app: app_${app}, ${ref} }`,
])
const keyOfKey = `  - { id: key_own, app: app_narrow, ${ref}, models: [claude, gemini], rates: [{ requests: 2, per: 1h }] }`

const gateway = useGateway({
  ids,
  backgroundSpeed: 10,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      [
        "users:",
        `  - { id: ann_${tag}, email: ${at("ann")}, org: ${ids.org}, role: member, rates: [{ requests: 2, per: 60s }] }`,
        `  - { id: bob_${tag}, email: ${at("bob")}, org: ${ids.org}, role: member, models: [main, plain] }`,
        "teams:",
        `  - { id: red_${tag}, org: ${ids.org}, members: [bob_${tag}], models: [plain, claude] }`,
      ].join("\n"),
    )
      .replace("- { handle: plain,", "- { handle: plain, tags: [cheap],")
      // Replies of other tests have no part in the estimates.
      .replace("    maxOutput: 2000\n", "    maxOutput: 2000\n    usualOutput: 2000\n")
      .replace(
        "\nkeys:\n",
        `\n${Object.entries(apps)
          .map(([app, limits]) => `  - { id: app_${app}, org: ${ids.org}, ${limits} }`)
          .join("\n")}\nkeys:\n${keys.join("\n")}\n${keyOfKey}\n`,
      ),
})

const spoken = { words: ["Hi"], inTokens: 10, outTokens: 5 }
beforeEach(() => gateway().vendor.script(answering(spoken)))

const asKey = (key: string) => ({ "x-svc-key-id": key, "x-svc-key": "wk_test_secret" })
const ask = (key: string, model = "main", more: object = {}) =>
  gateway().call("POST", "/t1/exchange", { ...hello, model, ...more }, asKey(key))
const statusOf = async (reply: Promise<Response>) => {
  const { status, headers } = await reply
  return status === 200 ? 200 : `${status} ${headers.get("retry-after") === null ? "" : "later"}`.trim()
}
const readConfig = Schema.decodeUnknownSync(Bundle)
const configOf = async (headers: Record<string, string | undefined>) =>
  readConfig(await (await gateway().call("GET", "/t1/config", undefined, headers)).json())
const modelsOf = async (headers: Record<string, string | undefined>) =>
  (await configOf(headers)).models.map(({ handle }) => handle)
const readToken = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))
const readSecret = Schema.decodeUnknownSync(Schema.Struct({ secret: Schema.String }))
const personal = async (name: string) => {
  const { accessToken } = await gateway().logIn(at(name))
  const bearer = { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization: `Bearer ${accessToken}` }
  const token = async () => {
    const minted = await gateway().call("POST", "/v1/tokens", { name: "t", scopes: ["runtime"] }, bearer)
    return { ...bearer, authorization: `Bearer ${readSecret(await minted.json()).secret}` }
  }
  return { bearer, token }
}

describe("models", () => {
  it("are those that every list allows; others are refused like unknown ones", async () => {
    expect(await modelsOf(asKey("key_narrow"))).toEqual(["main", "claude", "plain"])
    expect(await modelsOf(asKey("key_own"))).toEqual(["claude"])
    expect(await modelsOf(asKey("key_tagged"))).toEqual(["claude", "plain"])
    const [forbidden, unknown] = [
      await errorOf(await ask("key_narrow", "gemini")),
      await errorOf(await ask("key_narrow", "no-such")),
    ]
    expect(forbidden).toMatchObject({ status: 403, code: "model_not_authorized" })
    expect({ ...forbidden, requestId: "" }).toEqual({ ...unknown, requestId: "" })
    expect(await statusOf(ask("key_tagged", "main"))).toBe("403")
    expect(await statusOf(ask("key_own", "main"))).toBe("403")
  })

  it("of an empty list are none", async () => {
    expect(await modelsOf(asKey("key_nothing"))).toEqual([])
    expect(await statusOf(ask("key_nothing"))).toBe("403")
    const listed = await gateway().call("GET", "/openai/v1/models", undefined, asKey("key_nothing"))
    expect(await listed.json()).toMatchObject({ data: [] })
  })

  it("change the fingerprint of a caller's configuration", async () => {
    const version = async (key: string) => (await configOf(asKey(key))).configVersion
    const [all, narrow, requests] = [await version(ids.key), await version("key_narrow"), await version("key_requests")]
    expect(narrow).not.toBe(all)
    expect(requests).toBe(all)
  })

  it.each(["/openai/v1/models", "/anthropic/v1/models", "/gemini/v1beta/models"])(
    "are listed at %s as they may be called, and an address of another is unknown",
    async (path) => {
      const text = await (await gateway().call("GET", path, undefined, asKey("key_own"))).text()
      expect(
        ["main", "claude", "gemini", "plain"].filter((handle) => new RegExp(`"(models/)?${handle}"`).test(text)),
      ).toEqual(["claude"])
      expect((await gateway().call("GET", `${path}/main`, undefined, asKey("key_own"))).status).toBe(404)
    },
  )

  it("of a person are those of the teams and the person; an end user has those of the application's end users", async () => {
    const { token } = await personal("bob")
    expect(await modelsOf(await token())).toEqual(["plain"])
    const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId: "eve" }, asKey("key_minting"))
    const { token: secret } = readToken(await minted.json())
    const endUser = { "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-app-token": secret }
    expect(await modelsOf(endUser)).toEqual(["plain"])
    const call = (model: string) => gateway().call("POST", "/t1/exchange", { ...hello, model }, endUser)
    expect(await statusOf(call("main"))).toBe("403")
    expect(await statusOf(call("plain"))).toBe(200)
    expect(await errorOf(await call("plain"))).toMatchObject({
      code: "rate_limited",
      detail: { scope: "endUser", unit: "requests", limit: 2, used: 2 },
    })
  })
})

describe("a rate of requests", () => {
  it("is shared by all keys of its application, and tells its limit", async () => {
    for (const key of ["key_requests", "key2_requests", "key_requests"]) expect(await statusOf(ask(key))).toBe(200)
    const reply = await ask("key2_requests")
    expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(50)
    expect(await errorOf(reply)).toMatchObject({
      status: 429,
      code: "rate_limited",
      detail: { scope: "app", unit: "requests", limit: 3, used: 3 },
    })
  })

  it("is shared by all tokens of its person", async () => {
    const { token } = await personal("ann")
    const [first, second] = [await token(), await token()]
    const call = (headers: Record<string, string | undefined>) => gateway().call("POST", "/t1/exchange", hello, headers)
    expect([await statusOf(call(first)), await statusOf(call(second)), await statusOf(call(first))]).toEqual([
      200,
      200,
      "429 later",
    ])
  })

  it("of some models does not hold for others", async () => {
    expect(await statusOf(ask("key_some", "claude"))).toBe(200)
    expect(await statusOf(ask("key_some", "claude"))).toBe("429 later")
    expect(await statusOf(ask("key_some", "main"))).toBe(200)
  })
})

describe("a rate of tokens", () => {
  it("counts an estimate while a call runs, so that parallel calls do not exceed it, and its tokens afterwards", async () => {
    gateway().vendor.script(answering({ ...spoken, inTokens: 300, outTokens: 100 }, 150))
    const calls = await Promise.all(
      Array.from({ length: 8 }, () => statusOf(ask("key_tokens", "main", { params: { maxTokens: 900 } }))),
    )
    // Each may use 900 tokens and its prompt: three of them fit.
    expect(calls.filter((status) => status === 200)).toHaveLength(3)
    expect(calls.filter((status) => status === "429 later")).toHaveLength(5)
    // They used 400 each.
    await sleep(400)
    expect(await statusOf(ask("key2_tokens", "main", { params: { maxTokens: 900 } }))).toBe(200)
    // Its estimate is corrected a moment after it has ended.
    await sleep(400)
    const refused = await ask("key2_tokens", "main", { params: { maxTokens: 1500 } })
    expect(await errorOf(refused)).toMatchObject({
      code: "rate_limited",
      detail: { scope: "app", unit: "tokens", limit: 3000, used: 1600 },
    })
  })

  it("refuses a call that alone is more than the limit, without a time to try again", async () => {
    const refused = await ask("key_cached", "claude", { params: { maxTokens: 2000, n: 1 } })
    expect(refused.status).toBe(200)
    const never = await ask("key2_cached", "responses", {
      thread: [{ role: "user", blocks: [{ t: "text", v: "word ".repeat(4000) }] }],
    })
    expect(never.headers.get("retry-after")).toBeNull()
    expect(await errorOf(never)).toMatchObject({ status: 429, detail: { unit: "tokens", limit: 3000 } })
  })

  it("counts streams like whole replies, also those that their client leaves", async () => {
    gateway().vendor.script(answering({ words: ["Hi", " there"], inTokens: 600, outTokens: 400 }))
    const stream = () => ask("key_streams", "main", { stream: true, params: { maxTokens: 900 } })
    expect(await (await stream()).text()).toContain("t.close")
    expect(await (await stream()).text()).toContain("t.close")
    await sleep(300)
    const refused = await ask("key2_streams", "main", { params: { maxTokens: 1100 } })
    expect(await errorOf(refused)).toMatchObject({ detail: { unit: "tokens", used: 2000 } })
    gateway().vendor.script(async (call) => {
      call.head()
      for (;;) if (!(await call.write(": \n\n"))) return
    })
    const leaving = new AbortController()
    const left = gateway().exchange(
      { ...hello, stream: true, params: { maxTokens: 500 } },
      { headers: { "content-type": "application/json", ...asKey("key_streams") }, signal: leaving.signal },
    )
    await sleep(200)
    leaving.abort()
    await left.catch(() => undefined)
    // Nothing was answered: nothing counts.
    await eventually(async () => {
      gateway().vendor.script(answering({ words: ["Hi"], inTokens: 300, outTokens: 200 }))
      return (await ask("key_streams", "main", { params: { maxTokens: 700 } })).status === 200
    })
  })

  it("leaves out tokens of the vendor's cache if it says so", async () => {
    gateway().vendor.script(answering({ ...spoken, inTokens: 2900, cachedTokens: 2800, outTokens: 10 }))
    await sleep(300)
    for (let call = 0; call < 4; call++) {
      expect(await statusOf(ask("key_cached", "main", { params: { maxTokens: 200 } }))).toBe(200)
      await sleep(300)
    }
  })
})

describe("calls at a time", () => {
  it("are those of all keys of the application, until they end or their client leaves", async () => {
    let finish = () => {}
    const until = new Promise<void>((resolve) => {
      finish = resolve
    })
    gateway().vendor.script(async (call) => {
      await until
      await answering(spoken)(call)
    })
    const leaving = new AbortController()
    const before = gateway().vendor.calls.length
    const running = [
      ask("key_calls", "main", { stream: true }),
      gateway().exchange(hello, {
        headers: { "content-type": "application/json", ...asKey("key2_calls") },
        signal: leaving.signal,
      }),
    ]
    const left = running[1]?.catch(() => "left")
    await eventually(() => gateway().vendor.calls.length >= before + 2)
    const full = await ask("key2_calls")
    expect(full.headers.get("retry-after")).toBe("1")
    expect(await errorOf(full)).toMatchObject({
      status: 429,
      code: "rate_limited",
      detail: { scope: "app", unit: "concurrent", limit: 2, used: 2 },
    })
    leaving.abort()
    await left
    const next = { status: 0 }
    void eventually(async () => (await ask("key_calls")).status === 200).then(() => {
      next.status = 200
    })
    await sleep(500)
    finish()
    expect(await (await running[0])?.text()).toContain("t.close")
    await eventually(() => next.status === 200)
    expect(await statusOf(ask("key_calls"))).toBe(200)
  })
})

describe("headers of rates on compatible routes", () => {
  const chat = (key: string) =>
    gateway().call(
      "POST",
      "/openai/v1/chat/completions",
      { model: "main", messages: [{ role: "user", content: "Hi" }], max_tokens: 100 },
      asKey(key),
    )

  it("are OpenAI's, with the tightest rate of each unit", async () => {
    await sleep(300)
    const { headers } = await chat("key_tokens")
    expect(headers.get("x-ratelimit-limit-tokens")).toBe("3000")
    const left = Number(headers.get("x-ratelimit-remaining-tokens"))
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThan(3000)
    expect(headers.get("x-ratelimit-reset-tokens")).toBe("1m0s")
    expect(headers.get("x-ratelimit-limit-requests")).toBe("100000")
  })

  it("say that nothing is left with a refusal", async () => {
    const { status, headers } = await chat("key_requests")
    expect([status, headers.get("x-ratelimit-remaining-requests")]).toEqual([429, "0"])
    expect(headers.get("x-ratelimit-limit-requests")).toBe("3")
  })

  it("are Anthropic's below /anthropic", async () => {
    const { status, headers } = await gateway().call(
      "POST",
      "/anthropic/v1/messages",
      { model: "main", max_tokens: 10, messages: [{ role: "user", content: "Hi" }] },
      asKey("key_cached"),
    )
    expect(status).toBe(200)
    expect(headers.get("anthropic-ratelimit-tokens-limit")).toBe("3000")
    expect(Date.parse(headers.get("anthropic-ratelimit-tokens-reset") ?? "")).toBeGreaterThan(Date.now())
    expect(headers.get("x-ratelimit-limit-tokens")).toBeNull()
  })
})
