/** The place whose timeout is in force, of all that set one, and the source that is reported for it. */
import { ConfigProvider, Effect, Result } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { timeoutWarnings } from "../../../src/catalogue/timeout-warnings.ts"
import { WeirConfig } from "../../../src/config.ts"
import { environmentsOf, resolveTimeout, resolveTimeouts } from "../../../src/protocol/timeout-tiers.ts"

const places = ["model", "vendor", "platform"] as const
type Place = (typeof places)[number]
/** Each place that may say something, from the strongest: with a time of its own, to distinguish them. */
const order = places.flatMap((place, at) => [
  { place, ofEnvironment: true, ms: 10 * at + 1, source: `${place}.production` },
  { place, ofEnvironment: false, ms: 10 * at + 2, source: place },
])
const layersOf = (said: ReadonlyArray<(typeof order)[number]>, environment = "production") => {
  const settingsOf = (name: Place) => {
    const own = said.filter(({ place }) => place === name)
    return Object.fromEntries(
      own.map(({ ofEnvironment, ms }) => (ofEnvironment ? ["production", { ttfb: ms }] : ["ttfb", ms])),
    )
  }
  return {
    environment,
    variables: {},
    model: settingsOf("model"),
    vendor: settingsOf("vendor"),
    platform: settingsOf("platform"),
  }
}
/** Every choice of places that say something: 64. */
const choices = Array.from({ length: 2 ** order.length }, (_, bits) => order.filter((_, at) => (bits >> at) & 1))

describe("the timeout in force", () => {
  it.each(choices.map((said) => [said.map(({ source }) => source).join(", ") || "nothing", said] as const))(
    "said by %s: the model before the vendor before the platform, each first of the environment",
    (_, said) => {
      const expected = said[0] ?? { ms: 120_000, source: "default" }
      expect(resolveTimeout("ttfb", layersOf(said))).toEqual({ ms: expected.ms, source: expected.source })
    },
  )

  it.each(choices.map((said) => [said.map(({ source }) => source).join(", ") || "nothing", said] as const))(
    "said by %s, in another environment: what is of production does not count",
    (_, said) => {
      const expected = said.find(({ ofEnvironment }) => !ofEnvironment) ?? { ms: 120_000, source: "default" }
      expect(resolveTimeout("ttfb", layersOf(said, "staging"))).toEqual({ ms: expected.ms, source: expected.source })
    },
  )

  it("a variable beats all of them, and says what it beats", () => {
    const source = "SVC_UPSTREAM_TTFB_TIMEOUT_MS"
    const layers = { ...layersOf(order), variables: { ttfb: 5 } }
    expect(resolveTimeout("ttfb", layers)).toEqual({ ms: 5, source, beaten: { ms: 1, source: "model.production" } })
    expect(resolveTimeout("ttfb", { ...layersOf([]), variables: { ttfb: 5 } })).toEqual({ ms: 5, source })
  })

  it("each tier is looked up by itself", () => {
    const tiers = resolveTimeouts({
      environment: "production",
      variables: { total: 4 },
      model: { production: { connect: 1 }, total: 9 },
      vendor: { production: { connect: 8, ttfb: 2 } },
      platform: { idle: 3, staging: { idle: 7 } },
    })
    expect(Object.values(tiers).map(({ ms }) => ms)).toEqual([1, 2, 3, 4])
  })

  it("an environment that is called as a tier, or as a member of every object, has no profile", () => {
    for (const environment of ["ttfb", "constructor", "__proto__"]) {
      expect(resolveTimeout("ttfb", layersOf(order, environment)).source).toBe("model")
    }
    expect(environmentsOf({ ttfb: 1, production: {}, total: 2, qa: {} })).toEqual(["production", "qa"])
  })
})

describe("one catalogue", () => {
  const text = `version: 1
timeouts: { ttfb: 60s, total: 30m, production: { ttfb: 120s } }
vendors:
  - id: v
    dialect: openai-chat
    baseUrl: https://v.test/v1
    timeouts: { idle: 20s, staging: { idle: 40s } }
models:
  - handle: m
    targets: [{ vendor: v, model: x }]
    timeouts: { development: { ttfb: 5s }, staging: { total: 10m } }
`
  const { document } = Result.getOrThrow(loadCatalogue(text))
  const inForce = (environment: string) =>
    Object.values(
      resolveTimeouts({
        environment,
        variables: {},
        model: document.models?.[0]?.timeouts,
        vendor: document.vendors?.[0]?.timeouts,
        platform: document.timeouts,
      }),
    ).map(({ ms, source }) => `${ms / 1000} ${source}`)

  it.each([
    ["development", ["10 default", "5 model.development", "20 vendor", "1800 platform"]],
    ["staging", ["10 default", "60 platform", "40 vendor.staging", "600 model.staging"]],
    ["production", ["10 default", "120 platform.production", "20 vendor", "1800 platform"]],
    ["elsewhere", ["10 default", "60 platform", "20 vendor", "1800 platform"]],
  ])("in %s", (environment, expected) => {
    expect(inForce(environment)).toEqual(expected)
    expect(timeoutWarnings(document, "production", {})).toEqual([])
  })

  it.each([
    ["a profile of nobody", "production: {", "prodution: {", "production", /^timeouts: "prodution" is not this/],
    [
      "a vendor's profile of nobody",
      "staging: { idle",
      "stagging: { idle",
      "production",
      /^vendors\/v timeouts: "stagg/,
    ],
    ["an environment without a profile", "version: 1", "version: 1", "qa", /none for this environment \(qa\)/],
    [
      "a first frame beyond the whole",
      "total: 10m",
      "total: 59s",
      "staging",
      /^models\/m at v: in staging, ttfb 1m \(platform\) is above total 59s \(model.staging\)/,
    ],
    [
      "the same in another environment",
      "total: 30m",
      "total: 90s",
      "staging",
      /in production, ttfb 2m \(platform.production\) is above total 90s/,
    ],
  ])("warns of %s", (_, from, to, environment, warning) => {
    const changed = Result.getOrThrow(loadCatalogue(text.replace(from, to))).document
    expect(timeoutWarnings(changed, environment, {}).join("\n")).toMatch(warning)
  })

  it("warns where a variable makes the first frame longer than the whole, here only", () => {
    const warnings = timeoutWarnings(document, "staging", { ttfb: 3_600_000 })
    expect(warnings).toEqual([
      "models/m at v: in staging, ttfb 1h (SVC_UPSTREAM_TTFB_TIMEOUT_MS) is above total 10m (model.staging), which ends the call before",
    ])
  })
})

describe("a duration in a variable", () => {
  const read = (value: string) =>
    WeirConfig.pipe(
      Effect.provide(WeirConfig.layer),
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnv({ env: { SVC_UPSTREAM_TTFB_TIMEOUT_MS: value } }),
      ),
      Effect.match({
        onSuccess: ({ upstreamTimeouts }) => upstreamTimeouts.ttfb,
        onFailure: ({ message }) => message,
      }),
      Effect.runPromise,
    )

  it("is milliseconds, or has a unit", async () => {
    expect(await Promise.all(["1500", "1500ms", "60s", "2m", "1h"].map(read))).toEqual([
      1500, 1500, 60_000, 120_000, 3_600_000,
    ])
  })

  it.each(["60 s", "1.5s", "0", "-1", "soon", "1d", "1e3"])("%s is refused", async (value) => {
    expect(await read(value)).toMatch(/SVC_UPSTREAM_TTFB_TIMEOUT_MS|duration such as|between/)
  })
})
