/** `POST /t1/websearch` and `GET /v1/search-providers`. */
import { Effect, Redacted, Schema } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { AppTokenResponse } from "../../src/protocol/control/app-token.ts"
import { SearchDirectory, SearchResponse } from "../../src/protocol/kinds/search.ts"
import type { TestGateway } from "../../src/testing/gateway.ts"
import { newTestIds, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, holdsOf, lastUsage, useGateway } from "../support/gateway.ts"

const ids = newTestIds()

const provider = (id: string, vendor: string, baseUrl: string, more = "") =>
  `  - { id: ${id}, name: "${id} search", vendor: ${vendor}, baseUrl: "${baseUrl}", currency: USD, pricePerCall: "0.005", cost: "0.003"${more} }`

/** `first` has the greatest weight; `broken` fails the credential gate; `foreign` the price gate. */
const withSearch =
  (of: ReturnType<typeof newTestIds>, plan: string, orgMore = "capabilities: { webSearch: true },", more = "") =>
  (urls: { readonly vendor: string; readonly second: string }) =>
    testCatalogue(
      urls,
      of,
      [
        "searchProviders:",
        provider("first", "searxng", urls.vendor, ", weight: 10, maxResultsCap: 3, timeout: 300ms"),
        provider("spare", "tavily", urls.second, `, weight: 5, credential: "env:WEIR_TEST_VENDOR"`),
        provider("broken", "brave", urls.second, `, weight: 1, credential: "env:NOWHERE"`),
        provider("foreign", "searxng", urls.second, ", weight: 1").replace("USD", "EUR"),
        provider("retired", "searxng", urls.second, ", active: false"),
        more,
      ].join("\n"),
    )
      .replace("{ id: team, perMinute: 100000 }", `{ id: team, perMinute: 100000${plan} }`)
      .replace(/(- \{ id: org_\w+, name: Test,)/, `$1 ${orgMore}`)

const gateway = useGateway({ ids, catalogue: withSearch(ids, "", undefined, "defaultSearchProvider: first") })

const decode = Schema.decodeUnknownSync(SearchResponse, { onExcessProperty: "error" })
const search = (query: unknown, more: object = {}, headers: Record<string, string | undefined> = {}, to = gateway()) =>
  to.call("POST", "/t1/websearch", { query, ...more }, headers)
const resultsOf = async (response: Response) => decode(await response.json()).results

const found = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ title: `T${at}`, url: `https://x.test/${at}`, content: `<b>S${at}</b>` }))
const finding =
  (count: number): VendorScript =>
  (call) => {
    call.head(200, { "content-type": "application/json" })
    call.end(JSON.stringify({ results: found(count) }))
  }
const refusing =
  (status: number, body: object = { code: "no", message: "secret words" }): VendorScript =>
  (call) => {
    call.head(status, { "content-type": "application/json" })
    call.end(JSON.stringify(body))
  }

beforeEach(() => {
  gateway().vendor.script(finding(20))
  gateway().second.script(finding(20))
})

describe("a search", () => {
  it("gives normalised results; the vendor-side cap truncates further", async () => {
    const results = await resultsOf(await search("river", { max_results: 20 }))
    expect(results).toEqual(
      [0, 1, 2].map((at) => ({ title: `T${at}`, url: `https://x.test/${at}`, snippet: `S${at}` })),
    )
    expect(gateway().vendor.calls.at(-1)?.path).toBe("/search?q=river&format=json")
  })

  it("is one billed call, recorded with purpose websearch; the query is stored nowhere", async () => {
    const before = await balanceOf(gateway())
    await resultsOf(await search("a very private question"))
    expect(before - (await balanceOf(gateway()))).toBe(50_000_000n)
    expect(await lastUsage(gateway())).toMatchObject({ purpose: "websearch", vendor: "first", key_id: gateway().keyId })
    const [row] = await Effect.runPromise(
      gateway().sql<{ all: string }>`
        select (select coalesce(json_agg(u)::text, '') from usage_records u) || (select coalesce(json_agg(h)::text, '') from holds h)
          || (select coalesce(json_agg(e)::text, '') from transfers e) as all`,
    )
    expect(row?.all).not.toContain("private question")
  })

  it.each([
    ["max_results 1", { max_results: 1 }, 1],
    ["max_results 20, with a cap of 3", { max_results: 20 }, 3],
  ])("%s", async (_limit, more, count) => {
    expect((await resultsOf(await search("river", more))).length).toBe(count)
  })

  it("max_results is 8 when absent", async () => {
    gateway().vendor.script(refusing(500))
    expect((await resultsOf(await search("river"))).length).toBe(8)
    expect(gateway().second.calls.at(-1)?.body).toMatchObject({ max_results: 8 })
  })

  it.each<[string, unknown, object]>([
    ["a blank query", "  \n ", {}],
    ["an empty query", "", {}],
    ["a query of 1025 characters", "x".repeat(1025), {}],
    ["no query", undefined, {}],
    ["max_results 0", "river", { max_results: 0 }],
    ["max_results 21", "river", { max_results: 21 }],
    ["half a result", "river", { max_results: 1.5 }],
    ["an unknown field", "river", { pool: "x" }],
  ])("%s is bad_request; nothing is billed", async (_rule, query, more) => {
    const before = await balanceOf(gateway())
    expect(await errorOf(await search(query, more))).toMatchObject({ status: 400, code: "bad_request" })
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("a query of 1024 characters passes, counted in code points", async () => {
    expect((await search("🌊".repeat(1024))).status).toBe(200)
  })
})

describe("failover and failure", () => {
  // A provider that failed five times in a row, or that was busy, is not called for a second, and one that was refused for
  // half a minute, or until the catalogue changes: later tests call it.
  afterEach(async () => {
    gateway().vendor.script(finding(20))
    gateway().second.script(finding(20))
    gateway().health.inForce({})
    await eventually(async () => {
      expect((await search("river")).status).toBe(200)
      const usage = await lastUsage(gateway())
      return usage?.vendor === "first"
    })
  })

  it.each<[string, VendorScript]>([
    ["429", refusing(429)],
    ["401", refusing(401)],
    ["500", refusing(503)],
    ["another shape", refusing(200, { surprise: true })],
    ["a reset", (call) => call.reset()],
    ["silence", () => undefined],
  ])("on %s the next provider of the directory answers, and is billed once", async (_how, script) => {
    gateway().vendor.script(script)
    const before = await balanceOf(gateway())
    expect((await resultsOf(await search("river"))).length).toBe(8)
    expect(before - (await balanceOf(gateway()))).toBe(50_000_000n)
    expect(await lastUsage(gateway())).toMatchObject({ vendor: "spare" })
  })

  it("if all refuse: upstream_error with status and machine code only, nothing billed, no hold left", async () => {
    gateway().vendor.script(refusing(500))
    gateway().second.script(refusing(403, { code: "plan_exhausted", message: "secret words" }))
    const before = await balanceOf(gateway())
    const response = await search("river")
    const text = await response.clone().text()
    const error = await errorOf(response)
    expect(error).toMatchObject({ status: 502, code: "upstream_error" })
    expect(error.detail).toEqual({ upstreamStatus: 403, upstreamCode: "plan_exhausted" })
    expect(text).not.toContain("secret words")
    expect(await balanceOf(gateway())).toBe(before)
    expect((await holdsOf(gateway())).filter(({ state }) => state === "held")).toEqual([])
  })

  it("insufficient_balance: no provider is called", async () => {
    const poor = newTestIds()
    const program = withGateway(poor, withSearch(poor, ""), async (to) => {
      await Effect.runPromise(to.sql`update counters set funded = 0.0049`)
      expect(await errorOf(await search("river", {}, {}, to))).toMatchObject({
        status: 402,
        code: "insufficient_balance",
      })
      expect(to.vendor.calls).toEqual([])
    })
    await program
  })
})

const withGateway = async (
  of: ReturnType<typeof newTestIds>,
  catalogue: (urls: { readonly vendor: string; readonly second: string }) => string,
  use: (to: TestGateway) => Promise<void>,
) => {
  const { startGateway } = await import("../../src/testing/gateway.ts")
  await Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(startGateway({ ids: of, catalogue }), (to) =>
        Effect.promise(() => {
          to.vendor.script(finding(20))
          to.second.script(finding(20))
          return use(to)
        }),
      ),
    ),
  )
}

const endUserOf = async (to: TestGateway, endUserId: string) => {
  const minted = await to.call("POST", "/v1/app-tokens", { endUserId })
  const { token } = Schema.decodeUnknownSync(AppTokenResponse)(await minted.json())
  return { "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-app-token": token }
}

describe("limits", () => {
  it("websearch_quota_exceeded: the owner's day, then the end user's, with limit and used; a failed search gives back", async () => {
    const of = newTestIds()
    await withGateway(of, withSearch(of, ", websearchDaily: 4, endUserWebsearchDaily: 2"), async (to) => {
      const [ada, bob] = [await endUserOf(to, "ada"), await endUserOf(to, "bob")]
      to.vendor.script(refusing(500))
      to.second.script(refusing(500))
      for (let at = 0; at < 5; at++) expect((await search("river", {}, ada, to)).status).toBe(502)
      to.vendor.script(finding(1))
      to.second.script(finding(1))
      for (let at = 0; at < 2; at++) expect((await search("river", {}, ada, to)).status).toBe(200)
      expect(await errorOf(await search("river", {}, ada, to))).toMatchObject({
        status: 429,
        code: "websearch_quota_exceeded",
        detail: { limit: 2, used: 2 },
      })
      for (let at = 0; at < 2; at++) expect((await search("river", {}, bob, to)).status).toBe(200)
      expect(await errorOf(await search("river", {}, {}, to))).toMatchObject({ detail: { limit: 4, used: 4 } })
    })
  }, 30_000)

  it("the capability flag gates end users and not owners: forbidden with detail.capability", async () => {
    const of = newTestIds()
    await withGateway(of, withSearch(of, "", ""), async (to) => {
      const error = await errorOf(await search("river", {}, await endUserOf(to, "ada"), to))
      expect(error).toMatchObject({ status: 403, code: "forbidden", detail: { capability: "webSearch" } })
      expect((await search("river", {}, {}, to)).status).toBe(200)
    })
  })

  it("websearch_not_configured: no provider, or none that passes wire, price and credential", async () => {
    const of = newTestIds()
    const catalogues = [
      "",
      `searchProviders:\n${provider("a", "unspoken", "http://127.0.0.1:9")}`,
      `searchProviders:\n${provider("a", "brave", "http://127.0.0.1:9")}`,
      `searchProviders:\n${provider("a", "tavily", "http://127.0.0.1:9", `, credential: "env:NOWHERE"`)}`,
      `searchProviders:\n${provider("a", "searxng", "http://127.0.0.1:9").replace("USD", "EUR")}`,
    ]
    await withGateway(
      of,
      (urls) => testCatalogue(urls, of),
      async (to) => {
        const urls = { vendor: to.vendor.url, second: to.second.url }
        for (const more of catalogues) {
          await Effect.runPromise(to.catalogue.apply(testCatalogue(urls, of, more)))
          expect(await errorOf(await search("river", {}, {}, to))).toMatchObject({
            status: 503,
            code: "websearch_not_configured",
          })
        }
      },
    )
  }, 60_000)
})

describe("the directory and an application's own choice", () => {
  const controlOf = async (to: TestGateway) => {
    const { secret } = await Effect.runPromise(
      to.accessTokens.issue({ kind: "pat", orgId: to.orgId, scopes: ["control"] }),
    )
    return { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization: `Bearer ${secret}` }
  }

  it("lists by weight, then the newest, then by id; nothing of procurement", async () => {
    const response = await gateway().call("GET", "/v1/search-providers", undefined, await controlOf(gateway()))
    const text = await response.text()
    const { defaultProviderId, data } = Schema.decodeUnknownSync(SearchDirectory, { onExcessProperty: "error" })(
      JSON.parse(text),
    )
    expect(defaultProviderId).toBe("first")
    expect(data.map(({ id }) => id)).toEqual(["first", "spare", "broken", "foreign"])
    expect(data[0]).toEqual({
      id: "first",
      name: "first search",
      vendor: "searxng",
      pricePerCall: "0.005",
      currency: "USD",
      maxResultsCap: 3,
      isDefault: true,
    })
    for (const secret of ["env:", "cost", "weight", "timeout", gateway().vendor.url, "0.003"])
      expect(text).not.toContain(secret)
    const urls = { vendor: gateway().vendor.url, second: gateway().second.url }
    const text2 = withSearch(ids, "", undefined, "defaultSearchProvider: retired")(urls)
    await Effect.runPromise(gateway().catalogue.apply(text2.replace(`"foreign search"`, `"Foreign"`)))
    const again = await gateway().call("GET", "/v1/search-providers", undefined, await controlOf(gateway()))
    const after = Schema.decodeUnknownSync(SearchDirectory)(await again.json())
    // Among equals, the newest is first; an inactive default is ignored.
    expect(after.data.map(({ id }) => id)).toEqual(["first", "spare", "foreign", "broken"])
    expect(after.defaultProviderId).toBeNull()
    await Effect.runPromise(
      gateway().catalogue.apply(withSearch(ids, "", undefined, "defaultSearchProvider: first")(urls)),
    )
  })

  it("PUT /v1/apps/{id}/config searchProviderId is called first; one that fails a gate is not replaced", async () => {
    const control = await controlOf(gateway())
    const set = (config: object) => gateway().call("PUT", `/v1/apps/${ids.app}/config`, config, control)
    expect((await set({ searchProviderId: "spare" })).status).toBe(200)
    await search("river")
    expect(await lastUsage(gateway())).toMatchObject({ vendor: "spare" })
    expect((await set({ searchProviderId: "broken" })).status).toBe(200)
    expect(await errorOf(await search("river"))).toMatchObject({ code: "websearch_not_configured" })
    expect(await errorOf(await set({ searchProviderId: "retired" }))).toMatchObject({ status: 400 })
    expect((await set({ searchProviderId: null })).status).toBe(200)
    await search("river")
    expect(await lastUsage(gateway())).toMatchObject({ vendor: "first" })
  })
})

describe("what a search has of every call", () => {
  it("a request id is one call, one bill and one use of the quota; another query under it is refused", async () => {
    const calls = gateway().vendor.calls.length
    const meta = { requestId: `search-${ids.app}` }
    const first = await search("river", { meta })
    const found = await resultsOf(first)
    const balance = await balanceOf(gateway())
    const again = await search("river", { meta })
    expect([again.status, again.headers.get("x-svc-idempotent-replay")]).toEqual([200, "1"])
    expect(await resultsOf(again)).toEqual(found)
    expect(gateway().vendor.calls.length - calls).toBe(1)
    expect(await balanceOf(gateway())).toBe(balance)
    expect(await errorOf(await search("lake", { meta }))).toMatchObject({ status: 409, code: "idempotency_conflict" })
    expect([first.headers.get("x-svc-cost"), first.headers.get("x-svc-currency")]).toEqual(["0.005", "USD"])
  })

  it("a failed search leaves its request id free", async () => {
    const meta = { requestId: `failed-${ids.app}` }
    for (const vendor of [gateway().vendor, gateway().second]) vendor.script(refusing(500))
    expect(await errorOf(await search("river", { meta }))).toMatchObject({ code: "upstream_error" })
    for (const vendor of [gateway().vendor, gateway().second]) vendor.script(finding(1))
    expect((await search("river", { meta })).status).toBe(200)
  })

  it("tells the time of its tiers in its record, and its purpose", async () => {
    await search("river", { meta: { purpose: "research" } })
    const rows = await Effect.runPromise(
      gateway().sql<{ dims: Record<string, number>; purpose: string; ttfb_ms: number }>`
        select dims, purpose, ttfb_ms from usage_records where org_id = ${gateway().orgId} order by at desc limit 1`,
    )
    expect(rows[0]).toMatchObject({ purpose: "research", dims: { web_search: 1 }, ttfb_ms: expect.any(Number) })
  })

  it.each<[string, object, string]>([
    ["an unknown field of meta", { meta: { surprise: 1 } }, "meta.surprise"],
    ["a request id that no store can hold", { meta: { requestId: "\u0000" } }, "meta.requestId"],
  ])("%s is refused with its place", async (_what, more, path) => {
    const error = await errorOf(await search("river", more))
    expect([error.status, error.code, JSON.stringify(error.detail).includes(path)]).toEqual([400, "bad_request", true])
  })
})

describe("an organisation's own key for a search provider", () => {
  const of = newTestIds()
  // A vendor has the name of `namesake`; `broken` has no key of the platform.
  const catalogue = (chosen: string) => (urls: { readonly vendor: string; readonly second: string }) => {
    const more = provider("openai", "tavily", urls.second, `, weight: 20, credential: "env:WEIR_TEST_VENDOR"`)
    return withSearch(of, "", undefined, `${more}\ndefaultSearchProvider: ${chosen}`)(urls)
  }
  const to = useGateway({
    ids: of,
    config: { masterKey: Redacted.make("the master key of these tests") },
    catalogue: catalogue("spare"),
  })
  const keep = (vendor: string) =>
    to().call(
      "PUT",
      `/v1/admin/orgs/${of.org}/upstream-keys/${vendor}`,
      { key: `own-${vendor}` },
      { "x-svc-admin-key": to().adminKey },
    )
  const choose = (chosen: string) =>
    Effect.runPromise(to().catalogue.apply(catalogue(chosen)({ vendor: to().vendor.url, second: to().second.url })))
  const asked = async () => {
    to().second.script(({ path, head, end }) => {
      head(200, { "content-type": "application/json" })
      end(JSON.stringify(path.startsWith("/res/") ? { web: { results: [] }, query: {} } : { results: found(1) }))
    })
    const response = await search("river", {}, {}, to())
    const headers = to().second.calls.at(-1)?.headers
    const key = headers?.["authorization"] ?? headers?.["x-subscription-token"]
    return [response.status, response.headers.get("x-svc-cost"), key]
  }

  it("is sent instead of the platform's, and the search costs nothing", async () => {
    expect(await asked()).toEqual([200, "0.005", "Bearer vendor-credential"])
    expect((await keep("spare")).status).toBe(200)
    expect(await asked()).toEqual([200, "0", "Bearer own-spare"])
  })

  it("makes a provider usable for which the platform has no key", async () => {
    await choose("broken")
    expect(await asked()).not.toContain("own-broken")
    expect((await keep("broken")).status).toBe(200)
    expect(await asked()).toEqual([200, "0", "own-broken"])
  })

  it("of a vendor is never sent to a search provider of the same name", async () => {
    await choose("openai")
    expect((await keep("openai")).status).toBe(200)
    expect(await asked()).toEqual([200, "0.005", "Bearer vendor-credential"])
  })

  it("of an unknown provider is refused", async () => {
    expect(await errorOf(await keep("nowhere"))).toMatchObject({ status: 404, code: "not_found" })
  })
})
