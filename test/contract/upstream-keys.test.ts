/** Upstream keys that organisations bring, over HTTP and TLS. */
import { randomUUID } from "node:crypto"
import { createServer, type Server } from "node:https"
import { rootCertificates, setDefaultCACertificates } from "node:tls"
import { Effect, Redacted, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { VideoJob } from "../../src/protocol/kinds/video.ts"
import { startGateway, type TestGateway } from "../../src/testing/gateway.ts"
import { answering, hello, newTestIds, openaiBody, testCatalogue } from "../../src/testing/index.ts"
import { portOf } from "../../src/testing/port.ts"
import { certificate, privateKey } from "../support/certificate.ts"
import { balanceOf, errorOf, eventually, lastUsage, replyOf, useGateway } from "../support/gateway.ts"

const answer = { words: ["own"], inTokens: 1000, outTokens: 200 }

/** The organisation's own vendor, on an address that is allowed here like a public one. */
const asked: Array<{ readonly path: string | undefined; readonly authorization: string | undefined }> = []
let location: string | undefined
let isBusy = false
let server: Server
let port = 0
beforeAll(
  () =>
    new Promise<void>((resolve) => {
      setDefaultCACertificates([...rootCertificates, certificate])
      server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
        asked.push({ path: request.url, authorization: request.headers.authorization })
        if (isBusy) return response.writeHead(429, { "retry-after": "1" }).end()
        if (location !== undefined) return response.writeHead(307, { location }).end()
        if (request.url?.endsWith("/content") === true) return response.writeHead(200).end("a film")
        if (request.url?.startsWith("/v1/videos") === true) {
          const status = request.method === "POST" ? "queued" : "completed"
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ id: "video_7", status }))
          return
        }
        response.writeHead(200, { "content-type": "application/json" }).end(openaiBody(answer))
      })
      server.listen(0, "127.0.0.2", () => {
        port = portOf(server)
        resolve()
      })
    }),
)
afterAll(() => server.close())

let resolved: ReadonlyArray<string> = ["127.0.0.2"]
const config = { egressAllow: ["127.0.0.2"], masterKey: Redacted.make("the master key of these tests") }
const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids)
    .replace("models:\n", "models:\n  - { handle: film, kind: video, targets: [{ vendor: openai, model: sora-2 }] }\n")
    .replace(
      "prices:\n",
      'prices:\n  - { model: film, currency: USD, dims: { video_seconds: "100000" }, from: 2026-01-01 }\n',
    )
    .replace("models: [main,", "models: [film, main,")
const ids = newTestIds()
const gateway = useGateway({ ids, catalogue, config, resolveHost: () => Promise.resolve(resolved) })

const readJob = Schema.decodeUnknownSync(VideoJob)

const admin = (method: string, path: string, body?: unknown, to = gateway()) =>
  fetch(`${to.baseUrl}/v1/admin/${path}`, {
    method,
    headers: { "content-type": "application/json", "x-svc-admin-key": to.adminKey },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
const place = (vendor = "openai", org = gateway().orgId) => `orgs/${org}/upstream-keys/${vendor}`
const own = () => ({ key: "sk-own-secret", baseUrl: `https://upstream.test:${port}/v1` })

describe("keeping keys", () => {
  it("a key is stored, listed by its last characters, and deleted; it is never returned again", async () => {
    const kept = await admin("PUT", place("anthropic"), { key: "sk-ant-0123456789" })
    expect(kept.status).toBe(200)
    const text = await kept.text()
    expect(text).not.toContain("sk-ant")
    expect(JSON.parse(text)).toMatchObject({ keys: [{ vendor: "anthropic", hint: "6789" }] })
    expect((await admin("DELETE", place("anthropic"))).status).toBe(200)
    expect(await errorOf(await admin("DELETE", place("anthropic")))).toMatchObject({ status: 404, code: "not_found" })
    expect(await (await admin("GET", `orgs/${gateway().orgId}/upstream-keys`)).json()).toEqual({ keys: [] })
  })

  it("at rest it is sealed, and bound to its row", async () => {
    await admin("PUT", place(), own())
    const rows = await Effect.runPromise(
      gateway().sql<{ sealed_key: string }>`select sealed_key from org_upstream_keys where vendor_id = 'openai'`,
    )
    expect(rows[0]?.sealed_key).not.toContain("sk-own")
    expect(Buffer.from(rows[0]?.sealed_key ?? "", "base64").toString("latin1")).not.toContain("sk-own")
    // With another address in the database, the key does not open: it is sealed to its address.
    await Effect.runPromise(
      gateway().sql`update org_upstream_keys set base_url = 'https://1.1.1.1', revision = revision + 1000`,
    )
    await eventually(async () => (await gateway().exchange(hello)).status !== 200)
    const error = await errorOf(await gateway().exchange(hello))
    expect(error).toMatchObject({ code: "upstream_error", detail: { upstreamStatus: 401 } })
    await admin("DELETE", place())
  })

  it("go when their organisation is closed", async () => {
    const org = { id: `org_leaving_${randomUUID().slice(0, 8)}`, name: "L", currency: "USD", models: [] }
    expect((await admin("POST", "orgs", org)).status).toBe(200)
    expect((await admin("PUT", place("openai", org.id), own())).status).toBe(200)
    expect((await admin("DELETE", `orgs/${org.id}`)).status).toBe(204)
    const left = gateway().sql`select from org_upstream_keys where org_id = ${org.id}`
    expect(await Effect.runPromise(left)).toEqual([])
  })

  it.each(["sk\n", "sk key", "sk-\u00e9", "\u0000", "sk-\ud83e\uddab", "", "x".repeat(4097)])(
    "a key that no header can carry is refused: %j",
    async (key) => {
      expect(await errorOf(await admin("PUT", place(), { key }))).toMatchObject({
        status: 400,
        code: "bad_request",
        detail: { issues: [{ path: "key" }] },
      })
    },
  )

  it.each([
    ["http://upstream.test", "not_https"],
    ["https://127.0.0.1", "address"],
    ["https://169.254.169.254/latest/meta-data", "address"],
    ["https://[::ffff:10.0.0.1]", "address"],
    ["https://user:pass@upstream.test", "credentials"],
    ["nonsense", "url"],
  ])("rule 6: the address %s is egress_blocked (%s)", async (baseUrl, reason) => {
    const error = await errorOf(await admin("PUT", place(), { key: "k", baseUrl }))
    expect(error).toMatchObject({ status: 403, code: "egress_blocked", detail: { reason } })
  })

  it("rule 6: a name that resolves to a private address is egress_blocked, also when it is stored", async () => {
    resolved = ["93.184.216.34", "10.0.0.1"]
    expect(await errorOf(await admin("PUT", place(), own()))).toMatchObject({ code: "egress_blocked" })
    resolved = ["127.0.0.2"]
  })

  it.each<[string, () => Promise<Response>, object]>([
    ["an unknown organisation", () => admin("PUT", place("openai", "org_nobody"), { key: "k" }), { status: 404 }],
    ["an unknown vendor", () => admin("PUT", place("nobody"), { key: "k" }), { status: 404 }],
    ["no key", () => admin("PUT", place(), {}), { status: 400, code: "bad_request" }],
    ["an unknown field", () => admin("PUT", place(), { key: "k", url: "x" }), { status: 400, code: "bad_request" }],
    [
      "the wrong admin key",
      () =>
        fetch(`${gateway().baseUrl}/v1/admin/${place()}`, { method: "DELETE", headers: { "x-svc-admin-key": "x" } }),
      { status: 401, code: "admin_key_invalid" },
    ],
  ])("%s is refused", async (_what, request, expected) => {
    expect(await errorOf(await request())).toMatchObject(expected)
  })
})

describe("exchanges with the organisation's own key", () => {
  beforeAll(async () => {
    expect((await admin("PUT", place(), own())).status).toBe(200)
  })

  it("go to its address with its key; the vendor bills it, and Weir does not", async () => {
    const before = await balanceOf(gateway())
    const { usage, blocks } = await replyOf(await gateway().exchange(hello))
    expect(blocks).toMatchObject([{ v: "own" }])
    expect(asked.at(-1)).toEqual({ path: "/v1/chat/completions", authorization: "Bearer sk-own-secret" })
    expect(gateway().vendor.calls).toEqual([])
    expect(usage).toMatchObject({ cost: "0", inTokens: 1000, outTokens: 200 })
    expect(await balanceOf(gateway())).toBe(before)
    expect(await lastUsage(gateway())).toMatchObject({ vendor: "openai", in_tokens: 1000n })
  })

  it("that outlive their request are asked for at its address too, and fetched from there", async () => {
    const before = await balanceOf(gateway())
    const begun = await gateway().call("POST", "/t1/videos", { model: "film", prompt: "a weir", seconds: 4 })
    expect(begun.status).toBe(202)
    const { id } = readJob(await begun.json())
    await eventually(async () => {
      const { status } = readJob(await (await gateway().call("GET", `/t1/videos/${id}`)).json())
      return status === "done"
    })
    expect(await (await gateway().call("GET", `/t1/videos/${id}/content`)).text()).toBe("a film")
    expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer sk-own-secret"]))
    expect(asked.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["/v1/videos", "/v1/videos/video_7", "/v1/videos/video_7/content"]),
    )
    expect(gateway().vendor.calls).toEqual([])
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("rule 6: a name that now resolves to a private address is egress_blocked, with no call and no failover", async () => {
    resolved = ["10.0.0.1"]
    server.closeAllConnections()
    const calls = gateway().second.calls.length
    for (const stream of [false, true]) {
      const error = await errorOf(await gateway().exchange({ ...hello, model: "pool", stream }))
      expect(error).toMatchObject({ status: 403, code: "egress_blocked", detail: { reason: "address" } })
    }
    expect(gateway().second.calls.length).toBe(calls)
    resolved = ["127.0.0.2"]
  })

  it("cool down by themselves; metrics do not name the organisation", async () => {
    isBusy = true
    const error = await errorOf(await gateway().exchange(hello))
    expect(error).toMatchObject({ code: "upstream_error", detail: { upstreamStatus: 429 } })
    isBusy = false
    const calls = asked.length
    expect((await gateway().exchange(hello)).status).toBe(502)
    expect(asked.length).toBe(calls)
    const metrics = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
    expect(metrics).toContain('weir_target_cooldowns_total{target="organisation",cause="vendor"} 1')
    expect(metrics).not.toContain(ids.org)
    await eventually(async () => (await gateway().exchange(hello)).status === 200)
  })

  it("rule 6: redirects are not followed", async () => {
    location = `http://127.0.0.1:${port}/latest/meta-data`
    const error = await errorOf(await gateway().exchange(hello))
    expect(error).toMatchObject({ code: "upstream_error", detail: { upstreamStatus: 307 } })
    location = undefined
  })

  it("other vendors, and this one without the key, are the platform's and billed", async () => {
    gateway().vendor.script(answering(answer))
    expect((await replyOf(await gateway().exchange({ ...hello, model: "claude" }))).usage.cost).toBe("0.006")
    await admin("DELETE", place())
    expect((await replyOf(await gateway().exchange(hello))).usage.cost).toBe("0.006")
    expect(gateway().vendor.calls.at(-1)?.headers["authorization"]).toBe("Bearer vendor-credential")
  })
})

describe("the master key", () => {
  it("without a master key no keys are accepted", async () => {
    const program = Effect.gen(function* () {
      const bare = yield* startGateway()
      const refused = yield* Effect.promise(() => admin("PUT", place("openai", bare.orgId), { key: "k" }, bare))
      return yield* Effect.promise(() => errorOf(refused))
    })
    expect(await Effect.runPromise(Effect.scoped(program))).toMatchObject({
      status: 403,
      code: "org_byok_not_available",
    })
  })
})

describe("rotation of the master key", () => {
  it("keys sealed under the key before open, and are sealed again under the new one", async () => {
    const ids = newTestIds()
    const catalogue = (urls: { readonly vendor: string; readonly second: string }) => testCatalogue(urls, ids)
    const sealedIn = async ({ sql }: TestGateway) =>
      (await Effect.runPromise(sql<{ sealed_key: string }>`select sealed_key from org_upstream_keys`))[0]?.sealed_key
    const start = (masterKey: string, masterKeyPrevious?: string) =>
      startGateway({
        backgroundSpeed: 10,
        ids,
        catalogue,
        config: {
          masterKey: Redacted.make(masterKey),
          masterKeyPrevious: masterKeyPrevious === undefined ? undefined : Redacted.make(masterKeyPrevious),
        },
      })
    const program = Effect.gen(function* () {
      const before = yield* start("old")
      yield* Effect.promise(() => admin("PUT", place("openai", ids.org), { key: "sk-rotated" }, before))
      const sealed = yield* Effect.promise(() => sealedIn(before))
      const after = yield* start("new", "old")
      yield* after.sql`
        insert into org_upstream_keys (org_id, vendor_id, sealed_key, hint)
        values (${ids.org}, 'openai', ${sealed ?? ""}, 'ated')`
      yield* Effect.promise(() => eventually(async () => (await sealedIn(after)) !== sealed))
      yield* Effect.promise(() => after.exchange(hello))
      return after.vendor.calls.at(-1)?.headers["authorization"]
    })
    // Without an address of its own, the key goes to the vendor's address of the catalogue.
    expect(await Effect.runPromise(Effect.scoped(program))).toBe("Bearer sk-rotated")
  })
})
