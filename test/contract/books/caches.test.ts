/** Content that a vendor keeps, by Google's SDK: its owner, its target, and its money. */
import { GoogleGenAI } from "@google/genai"
import { Effect, Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { inEach } from "../../../src/store/shards/shards.ts"
import { newTestIds, testCatalogue, type VendorCall } from "../../../src/testing/index.ts"
import { geminiBody } from "../../../src/testing/vendor-replies.ts"
import { balanceOf, eventually, lastUsage, useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({
  backgroundSpeed: 20,
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "models:\n",
        `models:
  - { handle: kept, maxOutput: 2000, targets: [{ vendor: openai, model: gpt }, { vendor: gemini, model: gemini-3-test }] }
  - { handle: elsewhere, maxOutput: 2000, targets: [{ vendor: gemini, model: gemini-4-test }] }
`,
      )
      .replace(
        "prices:\n",
        `prices:
  - { model: kept, currency: USD, input: "3", output: "15", cacheRead: "0.3", dims: { cache_hours: "100" }, from: 2026-01-01 }
  - { model: elsewhere, currency: USD, input: "3", output: "15", dims: { cache_hours: "100" }, from: 2026-01-01 }
`,
      )
      .replace("models: [main,", "models: [kept, elsewhere, main,"),
})

const json = (call: VendorCall, body: unknown, status = 200) => {
  call.head(status, { "content-type": "application/json" })
  call.end(JSON.stringify(body))
}

beforeEach(() => {
  gateway().vendor.script((call) => {
    if (call.path === "/v1beta/cachedContents") {
      return json(call, { name: "cachedContents/vendors-own", usageMetadata: { totalTokenCount: 36_000 } })
    }
    if (call.path.startsWith("/v1beta/cachedContents/")) return json(call, {})
    return json(call, JSON.parse(geminiBody({ words: ["Hi"], inTokens: 10, outTokens: 2, cachedTokens: 4 })))
  })
})

const key = () => `${gateway().keyId}~${gateway().key}`
const google = (apiKey = key()) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${gateway().baseUrl}/gemini` } })
const make = (ttl = "3600s", apiKey = key()) =>
  google(apiKey).caches.create({
    model: "kept",
    config: { contents: "A long river.", systemInstruction: "Be short.", ttl, displayName: "River" },
  })
const paths = () => gateway().vendor.calls.map(({ path }) => path)
const endUser = async (endUserId: string) => {
  const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId, ttlSeconds: 300 })
  return Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))(await minted.json()).token
}
const findings = () =>
  Effect.runPromise(
    inEach(gateway().shards, ({ sql, books }) => sql`select finding, id from ${books}ledger_audit('', null)`),
  )

describe("cached content", () => {
  it("is made at the vendor under our id, and used there alone", async () => {
    const made = await make()
    expect(made).toMatchObject({
      name: expect.stringMatching(/^cachedContents\/job_/),
      model: "models/kept",
      displayName: "River",
      usageMetadata: { totalTokenCount: 36_000 },
    })
    expect(gateway().vendor.calls.at(-1)?.body).toMatchObject({ model: "models/gemini-3-test", ttl: "3600s" })
    expect(Date.parse(made.expireTime ?? "") - Date.parse(made.createTime ?? "")).toBe(3_600_000)
    const reply = await google().models.generateContent({
      model: "kept",
      contents: "Where?",
      config: { cachedContent: made.name ?? "" },
    })
    expect(reply.text).toBe("Hi")
    expect(gateway().vendor.calls.at(-1)).toMatchObject({
      path: "/v1beta/models/gemini-3-test:generateContent",
      body: { cachedContent: "cachedContents/vendors-own" },
    })
    const other = google().models.generateContent({
      model: "elsewhere",
      contents: "Where?",
      config: { cachedContent: made.name ?? "" },
    })
    await expect(other).rejects.toMatchObject({ status: 400, message: expect.stringContaining("cachedContent") })
    await google().caches.delete({ name: made.name ?? "" })
  })

  it("belongs to its maker: others get 404", async () => {
    const token = await endUser("one")
    const made = await make("3600s", token)
    const name = made.name ?? ""
    expect((await google(token).caches.get({ name })).name).toBe(name)
    for (const stranger of [key(), await endUser("two")]) {
      const { caches, models } = google(stranger)
      const unknown = { status: 404 }
      await expect(caches.get({ name })).rejects.toMatchObject(unknown)
      await expect(caches.delete({ name })).rejects.toMatchObject(unknown)
      await expect(caches.update({ name, config: { ttl: "10s" } })).rejects.toMatchObject(unknown)
      const used = models.generateContent({ model: "kept", contents: "x", config: { cachedContent: name } })
      await expect(used).rejects.toMatchObject(unknown)
      const names = []
      for await (const cache of await caches.list()) names.push(cache.name)
      expect(names).not.toContain(name)
    }
    const own = []
    for await (const cache of await google(token).caches.list({ config: { pageSize: 1 } })) own.push(cache.name)
    expect(own).toEqual([name])
    expect((await gateway().call("GET", `/t1/videos/${name.split("/")[1]}`)).status).toBe(404)
    await google(token).caches.delete({ name })
  })

  it("is held for its time, and charged for the time that it lived", async () => {
    const before = await balanceOf(gateway())
    const made = await make()
    // 36,000 tokens at $3 a million, and for an hour at $100 a million.
    const held = 1_080_000_000n + 36_000_000_000n
    await eventually(async () => before - (await balanceOf(gateway())) === held)
    await google().caches.delete({ name: made.name ?? "" })
    expect(paths().at(-1)).toBe("/v1beta/cachedContents/vendors-own")
    await expect(google().caches.get({ name: made.name ?? "" })).rejects.toMatchObject({ status: 404 })
    const cost = before - (await balanceOf(gateway()))
    expect(cost).toBeGreaterThan(1_080_000_000n)
    expect(cost).toBeLessThan(1_080_000_000n + 36_000_000_000n / 60n)
    expect(await lastUsage(gateway())).toMatchObject({ model: "kept", purpose: "cache", cache_write_tokens: 36_000n })
    expect(await findings()).toEqual([])
  })

  it("stays where its vendor does not remove it", async () => {
    const made = await make()
    const name = made.name ?? ""
    gateway().vendor.script((call) => json(call, {}, 500))
    await expect(google().caches.delete({ name })).rejects.toMatchObject({ status: 502 })
    gateway().vendor.script((call) => json(call, {}, 404))
    await google().caches.delete({ name })
    await expect(google().caches.get({ name })).rejects.toMatchObject({ status: 404 })
  })

  it("ends by itself, and costs all of its time", async () => {
    const before = await balanceOf(gateway())
    const made = await make("1s")
    await eventually(async () => {
      const name = made.name ?? ""
      return google()
        .caches.get({ name })
        .then(
          () => false,
          () => true,
        )
    })
    await eventually(async () => before - (await balanceOf(gateway())) === 1_080_000_000n + 10_000_000n)
    expect(await findings()).toEqual([])
  })

  it("lives shorter if it is asked, and not longer", async () => {
    const made = await make()
    const name = made.name ?? ""
    const longer = google().caches.update({ name, config: { ttl: "7200s" } })
    await expect(longer).rejects.toMatchObject({ status: 400, message: expect.stringContaining("create another") })
    const shorter = await google().caches.update({ name, config: { ttl: "60s" } })
    expect(Date.parse(shorter.expireTime ?? "")).toBeLessThan(Date.parse(made.expireTime ?? ""))
    expect(gateway().vendor.calls.at(-1)).toMatchObject({ method: "PATCH", body: { ttl: "60s" } })
    await google().caches.delete({ name })
  })

  it("needs a vendor that keeps content, a price, and a time", async () => {
    const create = (model: string, config: object) =>
      google().caches.create({ model, config: { contents: "x", ...config } })
    await expect(create("main", {})).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("keeps content"),
    })
    await expect(create("gemini", {})).rejects.toMatchObject({ message: expect.stringContaining("cache_hours") })
    await expect(create("kept", { ttl: "soon" })).rejects.toMatchObject({ message: expect.stringContaining("ttl") })
    await expect(create("kept", { ttl: "9999999s" })).rejects.toMatchObject({ message: expect.stringContaining("ttl") })
    await expect(create("kept", { expireTime: "2020-01-01T00:00:00Z" })).rejects.toMatchObject({ status: 400 })
    await expect(create("kept", { kmsKeyName: "k" })).rejects.toBeDefined()
    const searching = { tools: [{ functionDeclarations: [{ name: "f" }] }, { googleSearch: {} }] }
    await expect(create("kept", searching)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("googleSearch"),
    })
  })
})
