/** `/t1/config` and `/t1/handshake`: the bundle of a heartbeat, capabilities, versions. */
import { Effect, Schema } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { AppTokenResponse } from "../../src/protocol/control/app-token.ts"
import { Bundle } from "../../src/protocol/control/bundle.ts"
import { HandshakeResponse, HeartbeatResponse } from "../../src/protocol/session.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(
    urls,
    ids,
    `searchProviders:\n  - { id: s, name: S, vendor: searxng, baseUrl: "${urls.second}", pricePerCall: "0.001", currency: USD }\n`,
  ).replace(/(- \{ id: org_\w+, name: Test,)/, "$1 capabilities: { webSearch: true, speechToText: true },")

const gateway = useGateway({ backgroundSpeed: 10, ids, catalogue })
const decodeBundle = Schema.decodeUnknownSync(Bundle, { onExcessProperty: "error" })
const decodeBeat = Schema.decodeUnknownSync(HeartbeatResponse)
const decodeHandshake = Schema.decodeUnknownSync(HandshakeResponse, { onExcessProperty: "error" })

type Headers = Record<string, string | undefined>
const config = (headers: Headers = {}) => gateway().call("GET", "/t1/config", undefined, headers)
const bundle = async (headers: Headers = {}) => decodeBundle(await (await config(headers)).json())

let endUser: Headers = {}
let personal: Headers = {}
beforeAll(async () => {
  const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId: "ada" })
  const { token } = Schema.decodeUnknownSync(AppTokenResponse)(await minted.json())
  const nobody = { "x-svc-key-id": undefined, "x-svc-key": undefined }
  endUser = { ...nobody, "x-svc-app-token": token }
  const pat = await Effect.runPromise(
    gateway().accessTokens.issue({ kind: "device", orgId: gateway().orgId, scopes: ["runtime"] }),
  )
  personal = { ...nobody, authorization: `Bearer ${pat.secret}` }
})

describe("the bundle's settings", () => {
  const set = (scope: string, keyPath: string, headers: Headers, body: object) =>
    gateway().call("PUT", `/v1/config/${scope}/${keyPath}`, body, {
      "x-svc-key-id": undefined,
      "x-svc-key": undefined,
      ...headers,
    })

  it("are the organisation's for its keys, and a member's for the member; a change makes clients stale", async () => {
    const email = `ada@${ids.org.replace("_", "-")}.example.com`
    const declare = (urls: { readonly vendor: string; readonly second: string }) =>
      `${catalogue(urls)}\nusers:\n  - { id: ada_${ids.org}, email: ${email}, org: ${ids.org}, role: owner }\n`
    const urls = { vendor: gateway().vendor.url, second: gateway().second.url }
    await Effect.runPromise(gateway().catalogue.apply(declare(urls)))
    const before = await bundle()
    expect(before.settings.values).not.toHaveProperty("site.own")
    const { accessToken, account } = await gateway().logIn(email)
    const ada = { authorization: `Bearer ${accessToken}`, "x-svc-org": ids.org }
    expect((await set("org", "site.own", ada, { value: "org", lock: true })).status).toBe(200)
    expect((await set("user", "site.mine", ada, { value: "user" })).status).toBe(200)
    await eventually(async () => (await bundle()).settings.locks.includes("site.own"))
    const after = await bundle()
    expect(after.settings).toMatchObject({
      values: { site: { own: "org" } },
      origins: { "site.own": "org" },
      lockOrigins: { "site.own": "org" },
    })
    expect(after.settings.origins).not.toHaveProperty("site.mine")
    expect(after.configVersion).not.toBe(before.configVersion)
    const beat = await gateway().call("POST", "/t1/heartbeat", { configVersion: before.configVersion })
    expect(decodeBeat(await beat.json())).toMatchObject({ configStale: true, bundleEtag: after.configVersion })

    const device = await Effect.runPromise(
      gateway().accessTokens.issue({ kind: "device", orgId: ids.org, userId: account.id, scopes: ["runtime"] }),
    )
    const member = { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization: `Bearer ${device.secret}` }
    expect((await bundle(member)).settings.values).toMatchObject({ site: { own: "org", mine: "user" } })
    await gateway().call("DELETE", "/v1/config/org/site.own", undefined, { ...member, ...ada })
    await eventually(async () => (await bundle()).configVersion === before.configVersion)
  })

  it("never contain keys that clients do not consume", async () => {
    await Effect.runPromise(gateway().sql`
      insert into settings (scope, subject, key_path, value, revision) values
        ('org', ${ids.org}, 'permissions.allow', '["all"]', 1), ('org', ${ids.org}, 'site.seen', '1', 1)`)
    await eventually(async () => Object.hasOwn((await bundle()).settings.origins, "site.seen"))
    expect(JSON.stringify(await bundle())).not.toContain("permissions")
    await Effect.runPromise(gateway().sql`delete from settings where subject = ${ids.org}`)
    await eventually(async () => !Object.hasOwn((await bundle()).settings.origins, "site.seen"))
  })
})

describe("the bundle", () => {
  it("names what the organisation has, and nothing of how it is served", async () => {
    const text = await (await config()).text()
    const { models, search } = decodeBundle(JSON.parse(text))
    expect(models.find(({ handle }) => handle === "main")).toEqual({
      handle: "main",
      mode: "platform",
      capabilities: ["tools", "images", "files", "reasoning", "cache"],
      contextWindow: 10_000,
      maxOutput: 2000,
    })
    expect(models.map(({ handle }) => handle)).not.toContain("foreign")
    expect(search.data.map(({ id }) => id)).toEqual(["s"])
    for (const secret of ["upstream-main", gateway().vendor.url, "env:", "weight", "targets"])
      expect(text).not.toContain(secret)
  })

  it("capability header: owners have everything and one ETag, whatever they send", async () => {
    const full = await bundle()
    expect(Object.keys(full.capabilities.platform)).toEqual([
      "webSearch",
      "imageGen",
      "videoGen",
      "speechToText",
      "textToSpeech",
    ])
    expect(Object.keys(full.platformModels)).toEqual(["image", "video", "speechToText", "textToSpeech"])
    expect(full.media).toEqual({ asr: { enabled: true }, tts: { enabled: false } })
    for (const headers of [
      { "x-svc-client-features": "platform-audio" },
      { "x-svc-client-features": "other" },
      personal,
    ]) {
      expect((await bundle(headers)).configVersion).toBe(full.configVersion)
    }
  })

  it.each([
    [undefined, 3, 2],
    ["", 3, 2],
    ["unknown, other", 3, 2],
    ["platform-audio", 5, 4],
    ["other,PLATFORM-Audio", 5, 4],
  ])(
    "capability header %j on the end-user path: %i capability and %i model keys",
    async (features, capabilities, models) => {
      const tier = await bundle({ ...endUser, "x-svc-client-features": features })
      expect(Object.keys(tier.capabilities.platform).length).toBe(capabilities)
      expect(Object.keys(tier.platformModels).length).toBe(models)
      expect(tier.media === undefined).toBe(capabilities === 3)
    },
  )

  it("the reply varies on the header; its ETag is the fingerprint, and a match gives 304", async () => {
    const first = await config(endUser)
    const etag = first.headers.get("etag") ?? ""
    expect(first.headers.get("vary")).toContain("x-svc-client-features")
    expect(etag).toBe(`"${decodeBundle(await first.json()).configVersion}"`)
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/)
    for (const match of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await config({ ...endUser, "if-none-match": match })
      expect(again.status).toBe(304)
      expect(again.headers.get("etag")).toBe(etag)
      expect(await again.text()).toBe("")
    }
    const audio = { ...endUser, "x-svc-client-features": "platform-audio", "if-none-match": etag }
    expect((await config(audio)).status).toBe(200)
  })

  it("rules 2 and 3: a heartbeat has the same fingerprint as the bundle of its tier", async () => {
    for (const headers of [{}, endUser, { ...endUser, "x-svc-client-features": "platform-audio" }, personal]) {
      const { configVersion } = await bundle(headers)
      const beat = decodeBeat(await (await gateway().call("POST", "/t1/heartbeat", { configVersion }, headers)).json())
      expect(beat).toMatchObject({ configVersion, bundleEtag: configVersion, configStale: false })
      const shaken = await gateway().call("POST", "/t1/handshake", { protocols: ["twp/1"] }, headers)
      expect(decodeHandshake(await shaken.json()).configVersion).toBe(configVersion)
    }
  })

  it("the fingerprint changes with what is delivered, and with nothing else", async () => {
    const before = (await bundle()).configVersion
    const urls = { vendor: gateway().vendor.url, second: gateway().second.url }
    const apply = (text: string) => Effect.runPromise(gateway().catalogue.apply(text))
    // Clients do not see a model's targets.
    await apply(catalogue(urls).replace("upstream-main", "elsewhere"))
    expect((await bundle()).configVersion).toBe(before)
    await apply(catalogue(urls).replace("contextWindow: 10000", "contextWindow: 20000"))
    expect((await bundle()).configVersion).not.toBe(before)
    await apply(catalogue(urls))
    expect((await bundle()).configVersion).toBe(before)
  })
})

describe("handshake", () => {
  it("negotiates the protocol and returns limits", async () => {
    const response = await gateway().call("POST", "/t1/handshake", {
      protocols: ["twp/2", "twp/1"],
      client: { name: "c", version: "1" },
    })
    expect(decodeHandshake(await response.json())).toMatchObject({
      protocol: "twp/1",
      features: ["platform-audio"],
      limits: { usageEventsMax: 200, searchResultsMax: 20, sessionWindowMs: 300_000 },
    })
  })

  it("without a common protocol: protocol_unsupported", async () => {
    const response = await gateway().call("POST", "/t1/handshake", { protocols: ["twp/9"] })
    expect(await errorOf(response)).toMatchObject({
      status: 400,
      code: "protocol_unsupported",
      detail: { supported: ["twp/1"] },
    })
  })

  it.each([{}, { protocols: [] }, { protocols: ["x".repeat(33)] }, { protocols: ["twp/1"], more: 1 }])(
    "%j is bad_request",
    async (body) => {
      expect(await errorOf(await gateway().call("POST", "/t1/handshake", body))).toMatchObject({ code: "bad_request" })
    },
  )
})
