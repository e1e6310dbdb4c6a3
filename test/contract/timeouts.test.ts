/** One catalogue in three environments: which timeout ends a call, a change while it runs, and an operator's variable. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { TestGateway } from "../../src/testing/gateway.ts"
import { answering, hello, newTestIds, readEvents, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
/** The platform, a vendor and a model, each with times of environments. */
const catalogue = (urls: { readonly vendor: string; readonly second: string }, platform = "ttfb: 210ms") =>
  testCatalogue(urls, ids)
    .replace("vendors:", `timeouts: { ${platform}, production: { ttfb: 230ms } }\nvendors:`)
    .replace("id: openai,", "id: openai, timeouts: { staging: { ttfb: 240ms }, idle: 5s },")
    .replace("params: { maxTokens", "timeouts: { development: { ttfb: 250ms } }\n    params: { maxTokens")

const silent = () => new Promise<never>(() => {})
/** The limit that ended a call to a vendor that says nothing. */
const endedBy = async (gateway: TestGateway, model = "main") => {
  gateway.vendor.script(silent)
  const { code, detail } = await errorOf(await gateway.exchange({ ...hello, model }))
  return [code, detail?.["timeoutMs"]]
}

describe("one catalogue as three environments", () => {
  const at = (env: string, variables = {}) =>
    useGateway({ ids, catalogue, config: { env, upstreamTimeouts: none, ...variables } })
  const none = { connect: undefined, ttfb: undefined, idle: undefined, total: undefined }
  const gateways = {
    development: at("development"),
    staging: at("staging"),
    production: at("production"),
    emergency: at("production", { upstreamTimeouts: { ...none, ttfb: 260 } }),
  }

  it.each([
    ["development", "main", 250],
    ["development", "plain", 210],
    ["staging", "main", 240],
    ["production", "main", 230],
    ["emergency", "main", 260],
  ] as const)("in %s, a call of %s is ended after %d ms", async (environment, model, timeoutMs) => {
    expect(await endedBy(gateways[environment](), model)).toEqual(["upstream_ttfb_timeout", timeoutMs])
  })

  it("a change while it runs is in force for the next call, and is told with the old value and the new one", async () => {
    const gateway = gateways.development()
    const urls = { vendor: gateway.vendor.url, second: gateway.second.url }
    const { changes } = await Effect.runPromise(gateway.catalogue.apply(catalogue(urls, "ttfb: 220ms")))
    expect(changes).toEqual([
      { entry: "timeouts/ttfb", change: "changed", fields: [{ path: "", before: "210ms", after: "220ms" }] },
    ])
    expect(await endedBy(gateway, "plain")).toEqual(["upstream_ttfb_timeout", 220])
    expect(await endedBy(gateway, "main")).toEqual(["upstream_ttfb_timeout", 250])
  })

  it("metrics and the usage store say where a limit comes from", async () => {
    const gateway = gateways.emergency()
    const metrics = await (await fetch(`${gateway.baseUrl}/metrics`)).text()
    const ofTarget = /^weir_upstream_tier_limit_ms\{tier="ttfb",vendor="openai",model="upstream-main"/
    const limits = metrics.split("\n").filter((line) => ofTarget.test(line))
    // Gateways of one process have the same metrics: those of the last one that called. One source at a time.
    expect(limits).toEqual([expect.stringMatching(/source="model.development"\} 250$/)])
    const query = "from=2020-01-01&to=2099-01-01"
    const headers = { "x-svc-admin-key": gateway.adminKey }
    gateway.vendor.script(answering({ words: ["done"], inTokens: 1, outTokens: 1 }))
    await readEvents(await gateway.exchange({ ...hello, stream: true }))
    const read = async (): Promise<unknown> =>
      (await fetch(`${gateway.baseUrl}/v1/admin/tier-times?${query}`, { headers })).json()
    await eventually(async () => JSON.stringify(await read()).includes('"ttfb"'))
    const reply = await read()
    expect(reply).toMatchObject({
      data: expect.arrayContaining([
        expect.objectContaining({
          tier: "ttfb",
          model: "main",
          limitMs: 260,
          source: "SVC_UPSTREAM_TTFB_TIMEOUT_MS, over 230ms of platform.production",
          limits: { development: 250, staging: 240, production: 260 },
        }),
      ]),
    })
    const unused = expect.objectContaining({ tier: "ttfb", model: "claude", buckets: [], ended: 0 })
    expect(reply).toMatchObject({ data: expect.not.arrayContaining([unused]) })
    const all: unknown = await (
      await fetch(`${gateway.baseUrl}/v1/admin/tier-times?${query}&all=true`, { headers })
    ).json()
    expect(all).toMatchObject({ data: expect.arrayContaining([unused]) })
  })
})
