/** A catalogue's text before it is applied: entries are added, vendors are asked for their models and called. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AuditEntries, CatalogueText } from "../../src/protocol/control/activity.ts"
import { ApplyResponse, VendorCheckResponse } from "../../src/protocol/control/admin.ts"
import { Draft, KnownVendors, VendorOffers } from "../../src/protocol/control/draft.ts"
import { errorOf, useGateway } from "../support/gateway.ts"
import { useListingVendor } from "../support/listing-vendor.ts"

const gateway = useGateway()
/** It takes the credential that the test gateway resolves. */
const vendor = useListingVendor("vendor-credential")
const prices = readFileSync(fileURLToPath(new URL("../support/model_prices.json", import.meta.url)), "utf8")

const send = (method: "GET" | "POST", path: string, body?: object, key = gateway().adminKey) =>
  fetch(`${gateway().baseUrl}/v1/admin/${path}`, {
    method,
    headers: { "content-type": "application/json", "x-svc-admin-key": key },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
const read = async <S extends Schema.ConstraintDecoder<unknown>>(schema: S, response: Response): Promise<S["Type"]> =>
  Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(await response.json())

const inForce = async () => (await read(CatalogueText, await send("GET", "catalogue"))).text ?? ""
const add = async (text: string, entries: object) =>
  read(Draft, await send("POST", "catalogue/draft", { text, add: entries }))
const entry = () => ({
  id: "listing",
  dialect: "openai-chat",
  profile: "generic",
  baseUrl: vendor.url,
  credential: "env:WEIR_TEST_VENDOR",
  timeouts: { idle: "90s" },
})
const offers = async (text: string, more: object = {}) =>
  read(VendorOffers, await send("POST", "vendors/listing/offers", { text, ...more }))

describe("from nothing to a model that is served", () => {
  it("each step is a text; the vendor is called before anything is applied, and the audit log tells of it", async () => {
    vendor.listed = {
      data: [{ id: "gpt-4o" }, { id: "gpt-4o-2024-08-06" }, { id: "o1" }, { id: "text-embedding-3-small" }],
    }
    const before = await inForce()
    const withVendor = await add(before, { vendors: [entry()], plans: [{ id: "drafted", concurrency: 5 }] })
    expect(withVendor.added).toHaveLength(2)
    expect(withVendor.vendors).toContain("listing")
    // The lines that a person wrote stay, with the notation of their durations.
    const isNew = (line: string) => !before.split("\n").includes(line)
    expect(
      withVendor.text
        .split("\n")
        .filter((line) => !isNew(line))
        .join("\n")
        .trimEnd(),
    ).toBe(before.trimEnd())
    expect(withVendor.text).toContain("idle: 90s")

    const {
      listed,
      problem,
      offers: offered,
      unpriced,
    } = await offers(withVendor.text, {
      prices,
      provider: "openai",
      markup: "10%",
    })
    expect({ listed, problem, unpriced }).toEqual({ listed: 4, problem: null, unpriced: [] })
    expect(offered).toMatchObject([
      {
        model: "gpt-4o",
        entry: { handle: "gpt-4o", targets: [{ vendor: "listing", model: "gpt-4o" }] },
        price: { model: "gpt-4o", currency: "USD", input: "2.75", output: "11" },
      },
      {
        entry: { handle: "text-embedding-3-small", kind: "embedding" },
        price: { model: "text-embedding-3-small", input: "0.022" },
      },
    ])

    const [offer] = offered
    const complete = await add(withVendor.text, { models: [offer?.entry], prices: [offer?.price] })
    const tried = await read(
      VendorCheckResponse,
      await send("POST", "vendors/listing/test", { text: complete.text, model: "gpt-4o" }),
    )
    expect(tried).toMatchObject({ ok: true, vendor: "listing", model: "gpt-4o", text: "ready" })
    expect(await inForce()).toBe(before)
    expect((await send("POST", "vendors/listing/test", {})).status).toBe(404)
    const { data: entries } = await read(AuditEntries, await send("GET", "audit?action=vendor.tried"))
    expect(entries.slice(0, 2).map(({ detail }) => detail)).toEqual([
      { vendor: "listing", baseUrl: vendor.url, credential: "env:WEIR_TEST_VENDOR" },
      { vendor: "listing", baseUrl: vendor.url, credential: "env:WEIR_TEST_VENDOR" },
    ])

    const applied = await read(ApplyResponse, await send("POST", "catalogue", { text: complete.text }))
    expect(applied.changes.map(({ change }) => change)).toEqual(["added", "added", "added", "added"])
    // A model that is served is not offered again; a changed price is.
    const still = (await offers(complete.text, { prices, provider: "openai", markup: "10%" })).offers
    expect(still.map(({ model }) => model)).toEqual(["text-embedding-3-small"])
    const [dearer] = (await offers(complete.text, { prices, provider: "openai", markup: "20%" })).offers
    expect(dearer).toMatchObject({ handle: "gpt-4o", price: { input: "3" }, before: { input: "2.75" } })
    expect(dearer?.entry).toBeUndefined()
    await send("POST", "catalogue", { text: before })
  })

  it("an empty text becomes a catalogue", async () => {
    expect(await add("", { vendors: [entry()] })).toMatchObject({
      text: expect.stringMatching(/^version: 1\nvendors:\n {2}- \{ id: listing, /),
      models: [],
    })
    expect(await add("version: 1 # ours", {})).toEqual({
      text: "version: 1 # ours\n",
      added: [],
      vendors: [],
      models: [],
    })
  })
})

describe("a vendor that does not list", () => {
  it("is told, and the price file's models are offered instead", async () => {
    vendor.status = 500
    const { text } = await add("", { vendors: [entry()] })
    const { problem, offers: offered } = await offers(text, { prices, provider: "gemini" })
    vendor.status = 200
    expect(problem).toBe(`${vendor.url}/models answers 500`)
    expect(offered.map(({ model, price }) => [model, price.input])).toEqual([["gemini-2.5-pro", "1.25"]])
  })

  it("has no prices: a server of one's own offers all for nothing", async () => {
    vendor.listed = { data: [{ id: "small" }] }
    const { text } = await add("", { vendors: [entry()] })
    expect((await offers(text)).offers).toMatchObject([{ handle: "small", price: { input: "0", output: "0" } }])
  })
})

describe("vendors that are known", () => {
  it("are listed with where their keys would be", async () => {
    const { data } = await read(KnownVendors, await send("GET", "vendors"))
    expect(data).toContainEqual({
      id: "anthropic",
      dialect: "anthropic",
      baseUrl: "https://api.anthropic.com",
      credential: "env:ANTHROPIC_API_KEY",
      hasKey: false,
    })
  })
})

describe("what is refused", () => {
  const draft = (text: string, entries: object) => () => send("POST", "catalogue/draft", { text, add: entries })
  const ask = (body: object) => async () => {
    const { text } = await add("", { vendors: [entry()] })
    return send("POST", "vendors/listing/offers", { text, ...body })
  }
  const plan = { id: "p" }
  it.each<[string, () => Promise<Response>, number, string]>([
    ["a text that is no catalogue", draft("vendors: {", {}), 400, ""],
    ["a text with an error", draft("version: 1\nvendorz: []", {}), 400, "vendorz"],
    ["an id that is none", draft("", { plans: [{ id: "a b" }] }), 400, "add.plans.0.id"],
    ["an unknown field", draft("", { plans: [{ id: "a", rpm: 1 }] }), 400, "add.plans.0.rpm"],
    ["an unknown section", draft("", { orgs: [] }), 400, "add.orgs"],
    [
      "a secret instead of a reference",
      draft("", { vendors: [{ ...entry(), baseUrl: "https://a.test", credential: "sk-1" }] }),
      400,
      "add.vendors.0.credential",
    ],
    ["a plan that is there", draft("version: 1\nplans:\n  - { id: p }", { plans: [plan] }), 400, "plans[1].id"],
    [
      "a model of a vendor that is not there",
      draft("", { models: [{ handle: "m", targets: [{ vendor: "v", model: "m" }] }] }),
      400,
      "models[0].targets[0].vendor",
    ],
    ["a list in one line", draft("version: 1\nplans: [{ id: q }]", { plans: [plan] }), 400, "plans"],
    [
      "more than a thousand",
      draft("", { plans: Array.from({ length: 1001 }, (_, at) => ({ id: `p${at}` })) }),
      400,
      "add.plans",
    ],
    ["a price file that is none", ask({ prices: "[]", provider: "openai" }), 400, "prices"],
    ["a vendor whose name in the file is not known", ask({ prices: "{}" }), 400, "provider"],
    ["a markup that is none", ask({ markup: "much" }), 400, "markup"],
    ["a vendor that the text lacks", () => send("POST", "vendors/nobody/offers", { text: "version: 1" }), 404, ""],
    [
      "a test of a vendor that the text lacks",
      () => send("POST", "vendors/openai/test", { text: "version: 1" }),
      404,
      "",
    ],
    ["a test by a text with an error", () => send("POST", "vendors/openai/test", { text: "x" }), 400, ""],
    ["the wrong admin key", () => send("POST", "catalogue/draft", { text: "", add: {} }, "wrong"), 401, ""],
  ])("%s", async (_what, request, status, path) => {
    const error = await errorOf(await request())
    expect(error.status).toBe(status)
    if (path !== "")
      expect(error).toMatchObject({ detail: { issues: expect.arrayContaining([expect.objectContaining({ path })]) } })
  })
})

describe("a large text", () => {
  it("does not keep the event loop: other requests are answered meanwhile", async () => {
    const models = Array.from(
      { length: 10_000 },
      (_, at) => `  - { handle: m${at}, mode: direct, contextWindow: 128000, capabilities: [tools, images] }`,
    )
    const text = ["version: 1", "models:", ...models].join("\n")
    const work = add(text, { plans: [{ id: "large" }] })
    let answered = 0
    let isDone = false
    work.finally(() => {
      isDone = true
    })
    while (!isDone) {
      await (await fetch(`${gateway().baseUrl}/healthz`)).text()
      answered++
    }
    expect((await work).models).toHaveLength(10_000)
    expect(answered).toBeGreaterThan(20)
  })
})
