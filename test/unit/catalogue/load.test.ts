/** Catalogue text: errors are reported with path and line. */
import { readFileSync } from "node:fs"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { changesOf, entriesOf } from "../../../src/catalogue/diff.ts"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { makeSnapshot } from "../../../src/catalogue/snapshot.ts"
import { orderTargets } from "../../../src/upstream/pool.ts"

const issues = (text: string) => {
  const loaded = loadCatalogue(text)
  return Result.isFailure(loaded) ? loaded.failure : []
}

const good = `version: 1
timeouts:
  production: { connect: 10s, idle: 2m, total: 1h, ttfb: 250ms }
vendors:
  - { id: a, dialect: openai-chat, baseUrl: "https://a.test/v1" }
models:
  - handle: m
    targets:
      - { vendor: a, model: second, tier: 2 }
      - { vendor: a, model: first, tier: 1 }
prices:
  - { model: m, currency: USD, input: "1", output: "1", from: 2026-01-01 }
  - { model: m, currency: USD, input: "2", output: "2", from: 2026-06-01 }
orgs:
  - { id: o, name: O, currency: USD, models: [m] }
`

/** A catalogue with a second vendor, in line 6. */
const aws = (dialect: string, fields: string) =>
  good.replace(
    "models:\n  - handle",
    `  - { id: b, dialect: ${dialect}, baseUrl: "https://b.test", ${fields} }\nmodels:\n  - handle`,
  )

/** A catalogue with a route, in line 16. */
const passing = (fields: string) => `${good}passThrough:\n  - { id: r, vendor: a, ${fields} }\n`

describe("a route with an error", () => {
  const fine = "path: /x/**, methods: [GET], price: free"

  it.each([
    ["nothing", fine, []],
    ["a path of everything", fine.replace("/x/**", "/**"), ["passThrough[0].path"]],
    ["a path that is anything", fine.replace("/x/**", "/*/x"), ["passThrough[0].path"]],
    ["a path out of its place", fine.replace("/x/**", "/x/../y"), ["passThrough[0].path"]],
    ["a path without its API's version", `${fine}, mount: anthropic`, ["passThrough[0].path"]],
    ["no method", fine.replace("[GET]", "[]"), ["passThrough[0].methods"]],
    ["an unknown vendor", `${fine}, vendor: b`.replace("vendor: b", "mount: openai"), []],
    ["a price without a currency", fine.replace("free", '{ call: "1" }'), ["passThrough[0].price"]],
    ["a price that is none", fine.replace("free", "{ currency: USD }"), ["passThrough[0].price"]],
    ["a negative price", fine.replace("free", '{ currency: USD, call: "-1" }, hold: "1"'), ["passThrough[0].price"]],
    ["a price without a hold", fine.replace("free", '{ currency: USD, call: "1" }'), ["passThrough[0].hold"]],
    [
      "a hold that is too small",
      fine.replace("free", '{ currency: USD, call: "1" }, hold: "0.99"'),
      ["passThrough[0].hold"],
    ],
    ["a free route with a hold", `${fine}, hold: "1"`, ["passThrough[0].hold"]],
    [
      "a price of nothing that is reported",
      fine.replace("free", '{ currency: USD, pages: "1" }, hold: "1"'),
      ["passThrough[0].price.pages"],
    ],
    [
      "a count at many places",
      fine.replace("free", '{ currency: USD, pages: "1" }, hold: "1", usage: { pages: "$.p[*].n" }'),
      ["passThrough[0].usage.pages"],
    ],
    [
      "a path and a method of another route",
      `${fine} }\n  - { id: s, vendor: a, ${fine.replace("/x/", "/X/")}`,
      ["passThrough[1].path"],
    ],
    ["a place that is none", `${fine}, owners: ["id"]`, ["passThrough[0].owners[0]"]],
    ["a credential that is passed on", `${fine}, headers: [authorization]`, ["passThrough[0].headers[0]"]],
  ])("%s", (_, fields, paths) => {
    expect(issues(passing(fields)).map(({ path }) => path)).toEqual(paths)
  })
})

describe("a catalogue with an error", () => {
  it.each([
    ["no YAML", "a: [", "", 1],
    ["a key twice", "version: 1\nversion: 1\n", "", 2],
    ["no version", "vendors: []\n", "version", 1],
    ["an unknown section", `${good}surprise: []\n`, "surprise", 16],
    ["an unknown field", good.replace("dialect:", "weigth: 1, dialect:"), "vendors[0].weigth", 5],
    ["an unknown dialect", good.replace("openai-chat", "openai"), "vendors[0].dialect", 5],
    ["no address", good.replace(', baseUrl: "https://a.test/v1"', ""), "vendors[0].baseUrl", 5],
    ["a missing field", good.replace("dialect: openai-chat, ", ""), "vendors[0].dialect", 5],
    ["a duration that is none", good.replace("10s", "ten"), "timeouts.production.connect", 3],
    ["a price as a number", good.replace(`input: "2"`, "input: 2"), "prices[1].input", 13],
    [
      "a duration that is none, of a vendor",
      good.replace("id: a,", "id: a, timeouts: { ttfb: 60 parsecs },"),
      "vendors[0].timeouts.ttfb",
      5,
    ],
    ["a tier that does not exist", good.replace("production: {", "ttbf: 60s\n  production: {"), "timeouts.ttbf", 3],
    [
      "a tier of an environment that does not exist",
      good.replace("connect: 10s", "conect: 10s"),
      "timeouts.production.conect",
      3,
    ],
    ["an environment named as a tier", good.replace("production: {", "total: {"), "timeouts.total", 3],
    ["a number without a unit", good.replace("production:", "idle: 60\n  production:"), "timeouts.idle", 3],
    ["a negative price", good.replace(`input: "2"`, `input: "-2"`), "prices[1].input", 13],
    ["a price out of range", good.replace(`input: "2"`, `input: "1000001"`), "prices[1]", 13],
    [
      "an unknown vendor",
      good.replace("vendor: a, model: first", "vendor: b, model: first"),
      "models[0].targets[1].vendor",
      10,
    ],
    ["an unknown model", good.replace("models: [m]", "models: [m, n]"), "orgs[0].models[1]", 15],
    [
      "an id twice",
      good.replace("orgs:", "orgs:\n  - { id: o, name: P, currency: USD, models: [] }"),
      "orgs[1].id",
      16,
    ],
    [
      "AWS access of another dialect",
      aws("openai-chat", "credential: env:K, aws: { region: us-east-1 }"),
      "vendors[1].aws",
      6,
    ],
    ["AWS access without keys", aws("bedrock", "aws: { region: us-east-1 }"), "vendors[1].aws", 6],
    ["half a pair of AWS keys", aws("bedrock", "aws: { region: us-east-1, accessKeyId: env:A }"), "vendors[1].aws", 6],
    [
      "two ways to sign in to AWS",
      aws("bedrock", "credential: env:K, aws: { region: us-east-1, accessKeyId: env:A, secretAccessKey: env:B }"),
      "vendors[1].aws",
      6,
    ],
    [
      "a token without AWS keys",
      aws("bedrock", "credential: env:K, aws: { region: us-east-1, sessionToken: env:T }"),
      "vendors[1].aws",
      6,
    ],
    ["a region that is none", aws("bedrock", "credential: env:K, aws: { region: ../x }"), "vendors[1].aws.region", 6],
    [
      "an AWS secret in the open",
      aws("bedrock", "aws: { region: us-east-1, accessKeyId: env:A, secretAccessKey: hunter2 }"),
      "vendors[1].aws.secretAccessKey",
      6,
    ],
    ["Vertex without its project", aws("gemini", "profile: vertex, credential: env:T"), "vendors[1].google", 6],
    [
      "a project without Vertex",
      aws("gemini", "google: { project: p, location: l, credentials: env:G }"),
      "vendors[1].google",
      6,
    ],
    [
      "Vertex without a way to sign in",
      aws("gemini", "profile: vertex, google: { project: p, location: l }"),
      "vendors[1].google",
      6,
    ],
    [
      "a project that is a path",
      aws("gemini", "profile: vertex, google: { project: ../p, location: l, credentials: env:G }"),
      "vendors[1].google.project",
      6,
    ],
    [
      "Vertex of another dialect",
      aws("cohere", "profile: vertex, google: { project: p, location: l, credentials: env:G }"),
      "vendors[1].profile",
      6,
    ],
    [
      "Entra beside an API key",
      aws("openai-chat", "profile: azure, credential: env:K, azure: { tenantId: t, clientId: c, clientSecret: env:S }"),
      "vendors[1].azure",
      6,
    ],
    [
      "Entra without the profile azure",
      aws("openai-chat", "azure: { tenantId: t, clientId: c, clientSecret: env:S }"),
      "vendors[1].azure",
      6,
    ],
    [
      "a tenant that is a path",
      aws("openai-chat", "profile: azure, azure: { tenantId: ../t, clientId: c, clientSecret: env:S }"),
      "vendors[1].azure.tenantId",
      6,
    ],
    [
      "batches of a vendor without them",
      good.replace("dialect: openai-chat", "dialect: cohere, batch: vendor"),
      "vendors[0].batch",
      5,
    ],
    [
      "a background of a vendor without one",
      good.replace("dialect: openai-chat", "dialect: openai-chat, background: vendor"),
      "vendors[0].background",
      5,
    ],
    ["batches of an unknown runner", good.replace("tier: 2", "tier: 2, batch: both"), "models[0].targets[0].batch", 9],
    ["a share of a batch above 1", good.replace('input: "2"', 'batch: "1.1", input: "2"'), "prices[1].batch", 13],
    [
      "a share of a batch that is negative",
      good.replace('input: "2"', 'batch: "-0.5", input: "2"'),
      "prices[1].batch",
      13,
    ],
    ["files at a vendor without files", aws("cohere", "credential: env:T, files: vendor"), "vendors[1].files", 6],
    ["files at Azure", aws("openai-chat", "profile: azure, credential: env:T, files: vendor"), "vendors[1].files", 6],
    ["files of another kind", aws("gemini", "credential: env:T, files: upload"), "vendors[1].files", 6],
    ["a secret in the open", `${good}keys: [{ id: k, app: x, secret: hunter2 }]\n`, "keys[0].secret", 16],
  ])("%s", (_what, text, path, line) => {
    expect(issues(text)).toContainEqual(expect.objectContaining({ path, line }))
  })
})

describe("an unknown field", () => {
  const whole = `version: 1
vendors: [{ id: a, dialect: openai-chat, baseUrl: "https://a.test", timeouts: { ttfb: 1s }, tls: { ca: env:CA } }]
models: [{ handle: m, params: { temperature: { max: 1 } }, targets: [{ vendor: a, model: m }] }]
prices: [{ model: m, currency: USD, input: "1", output: "1", dims: { images: "1" }, tiers: { flex: "1" }, from: 2026-01-01 }]
policies: [{ id: p, direction: inbound, match: { regex: x }, reason: r }]
orgs: [{ id: o, name: O, currency: USD, models: [m], sso: { issuer: "https://i.test", clientId: c } }]
webhooks: [{ id: w, url: "https://w.test", secret: env:W, events: [job.done] }]
exports: [{ id: e, to: "s3://bucket/x", region: eu-west-1, credentials: { accessKeyId: env:A, secretAccessKey: env:B }, format: parquet, every: 1h }]
`
  it("is no issue of the text without it", () => expect(issues(whole)).toEqual([]))

  it.each([
    ["vendors: [", "vendor: [", "vendor", "vendors"],
    ["webhooks:", "webhoks:", "webhoks", "webhooks"],
    ["baseUrl", "baseURL", "vendors[0].baseURL", "baseUrl"],
    ["{ ca:", "{ cs:", "vendors[0].tls.cs", undefined],
    ["{ max:", "{ maxx:", "models[0].params.temperature.maxx", "max"],
    ["temperature:", "temprature:", "models[0].params.temprature", "temperature"],
    ["handle: m,", "handle: m, capabilites: [],", "models[0].capabilites", "capabilities"],
    ["{ vendor: a,", "{ vendro: a,", "models[0].targets[0].vendro", "vendor"],
    ["{ regex:", "{ regexp:", "policies[0].match.regexp", "regex"],
    ["clientId", "clientID", "orgs[0].sso.clientID", "clientId"],
    ["secretAccessKey", "secretAcessKey", "exports[0].credentials.secretAcessKey", "secretAccessKey"],
    ["events:", "event:", "webhooks[0].event", "events"],
    ["every: 1h", "every: 1h, colour: red", "exports[0].colour", undefined],
    ["every: 1h", `every: 1h, ${"every".repeat(200)}: 1h`, `exports[0].${"every".repeat(200)}`, undefined],
  ])("%s written as %.40s names the near one", (right, wrong, path, meant) => {
    const issue = issues(whole.replace(right, wrong)).find((each) => each.path === path)
    expect(issue?.message.replace(/^.*?(; did you mean|$)/, "$1")).toBe(
      meant === undefined ? "" : `; did you mean ${meant}?`,
    )
  })
})

describe("prices above a number of tokens", () => {
  const problems = (above: string, kind = "chat") =>
    issues(`version: 1
vendors: [{ id: a, dialect: openai-chat, baseUrl: "https://a.test" }]
models: [{ handle: m, kind: ${kind}, targets: [{ vendor: a, model: m }] }]
prices:
  - { model: m, currency: USD, input: "1", output: "1", cacheRead: "0.1", dims: { reasoning: "1", images: "1" }, tiers: { flex: "0.5" }, from: 2026-01-01, above: ${above} }
`).map(({ path, message }) => [path.replace(/^prices\[0\]\./, ""), message])

  it("rise, and state what the price states", () => {
    expect(
      problems(
        '[{ tokens: 128000, input: "2" }, { tokens: 200000, output: "3", cacheRead: "0", dims: { reasoning: "4" }, tiers: { flex: "0.6" } }]',
      ),
    ).toEqual([])
  })

  it.each([
    ['[{ tokens: 200000, input: "2" }, { tokens: 200000, input: "3" }]', "above[1].tokens", "is not above 200000"],
    ['[{ tokens: 200000, input: "2" }, { tokens: 128000, input: "3" }]', "above[1].tokens", "is not above 200000"],
    ["[{ tokens: 200000 }]", "above[0]", "states no price"],
    ["[{ tokens: 200000, dims: {} }]", "above[0]", "states no price"],
    ['[{ tokens: 1, cacheWrite: "2" }]', "above[0].cacheWrite", "the price itself states no cacheWrite"],
    ['[{ tokens: 1, dims: { audio_in: "2" } }]', "above[0].dims.audio_in", "the price itself states no dims.audio_in"],
    [
      '[{ tokens: 1, tiers: { priority: "2" } }]',
      "above[0].tiers.priority",
      "the price itself states no tiers.priority",
    ],
    ['[{ tokens: 1, input: "1000001" }]', "prices[0]", expect.stringContaining("a price is above 1000000")],
  ])("%s is refused", (above, path, message) => {
    expect(problems(above)).toEqual([[path, message]])
  })

  it.each([
    "[]",
    '[{ input: "2" }]',
    '[{ tokens: 0, input: "2" }]',
    '[{ tokens: 1.5, input: "2" }]',
    "[{ tokens: 1, input: 2 }]",
    '[{ tokens: 1, input: "-2" }]',
    '[{ tokens: 1, dims: { images: "2" } }]',
    '[{ tokens: 1, input: "2", above: [] }]',
    `[${Array.from({ length: 9 }, (_, at) => `{ tokens: ${at + 1}, input: "2" }`).join(", ")}]`,
  ])("%s has not the form", (above) => {
    expect(problems(above)).not.toEqual([])
  })

  it("are for kinds whose usage is that of one call", () => {
    expect(problems('[{ tokens: 1, input: "2" }]', "embedding")).toEqual([
      ["above", "prices of kind embedding do not depend on the input's length"],
    ])
  })
})

describe("the runner of batches", () => {
  const models = (vendor: string, kind: string, target = "") => `version: 1
vendors: [{ id: a, baseUrl: "https://a.test", ${vendor} }]
models: [{ handle: m, kind: ${kind}, targets: [{ vendor: a, model: m${target} }] }]
`
  const runnerOf = (text: string) =>
    makeSnapshot(Result.getOrThrow(loadCatalogue(text)).document, 1n, "f", () => undefined).model("m")?.targets[0]
      ?.batch

  it.each([
    ["dialect: openai-chat", "chat", "", undefined],
    ["dialect: openai-chat", "chat", ", batch: vendor", "vendor"],
    ["dialect: openai-chat, batch: vendor", "chat", "", "vendor"],
    ["dialect: openai-chat, batch: vendor", "chat", ", batch: gateway", "gateway"],
    ["dialect: openai-chat, batch: vendor", "speech", "", undefined],
    ["dialect: cohere", "chat", ", batch: gateway", "gateway"],
    ["dialect: openai-responses, profile: azure, batch: vendor", "chat", "", "vendor"],
    ["dialect: gemini, batch: vendor", "embedding", "", "vendor"],
  ])("of %s, kind %s%s is %s", (vendor, kind, target, runner) => {
    expect(runnerOf(models(vendor, kind, target))).toBe(runner)
  })

  it.each([
    ["dialect: cohere", "chat", "dialect cohere has no batches of chat"],
    ["dialect: openai-chat", "speech", "dialect openai-chat has no batches of speech"],
    [
      "dialect: openai-chat, profile: deepseek",
      "chat",
      "dialect openai-chat with profile deepseek has no batches of chat",
    ],
    [
      "dialect: openai-chat, profile: groq",
      "embedding",
      "dialect openai-chat with profile groq has no batches of embedding",
    ],
    ["dialect: gemini", "image", "dialect gemini has no batches of image"],
  ])("vendor is refused where %s has none of %s", (vendor, kind, message) => {
    expect(issues(models(vendor, kind, ", batch: vendor"))).toEqual([
      { path: "models[0].targets[0].batch", line: 3, message },
    ])
  })
})

describe("a model without targets", () => {
  const model = (fields: string) =>
    `${good}`.replace(/models:\n[\s\S]*prices:/, `models:\n  - { handle: m${fields} }\nprices:`)

  it("is a good one if its clients call the vendor directly", () => {
    expect(issues(model(", mode: direct"))).toEqual([])
    expect(issues(model(", mode: direct, targets: []"))).toEqual([])
  })

  it.each(["", ", mode: platform", ", targets: []"])("is refused otherwise: {handle: m%s}", (fields) => {
    expect(issues(model(fields))).toMatchObject([
      { path: "models[0].targets", message: "at least one target is required" },
    ])
  })
})

it.each([
  ["3000", "a duration such as 60s, or tiers: { ttfb: 60s }"],
  ["0s", "a duration such as 250ms, 10s, 2m or 1h, from 1ms to 277h"],
  ["999h", "a duration such as 250ms, 10s, 2m or 1h, from 1ms to 277h"],
  ["1m30s", "a duration such as 250ms, 10s, 2m or 1h"],
])("a timeout of %s is refused with what can be written", (value, expected) => {
  expect(issues(`version: 1\ntimeouts: { ttfb: ${value} }\n`)).toEqual([
    { path: "timeouts.ttfb", line: 2, message: `${value === "3000" ? value : `"${value}"`} is not ${expected}` },
  ])
  const inEnvironment = issues(`version: 1\ntimeouts: { production: { ttfb: ${value} } }\n`)
  expect(inEnvironment).toEqual([
    { path: "timeouts.production.ttfb", line: 2, message: expect.stringContaining("a duration such as 250ms") },
  ])
})

it("bytes that are no UTF-8 are refused by their line, and not stored as something else", () => {
  const latin1 = Buffer.from(good.replace("name: O", "name: Caf\u00e9"), "latin1")
  expect(issues(latin1.toString("utf8"))).toEqual([
    { path: "", line: 15, message: "there are bytes that are not UTF-8: store the file as UTF-8" },
  ])
})

describe("values that a store cannot hold", () => {
  it.each([
    [good.replace("name: O", 'name: "a\\0b"'), "orgs[0].name"],
    [good.replace("from: 2026-01-01", "from: 2026-02-30"), "prices[0].from"],
    [good.replace("from: 2026-01-01", "from: 9999-01-01"), "prices[0].from"],
    [good.replace("from: 2026-01-01", "from: 1900-01-01"), "prices[0].from"],
  ])("are refused by their path: %#", (text, path) => {
    expect(issues(text)).toMatchObject([{ path }])
  })
})

describe("a good catalogue", () => {
  const loaded = Result.getOrThrow(loadCatalogue(good))
  const snapshot = makeSnapshot(loaded.document, 1n, "f", () => undefined)

  it("has its durations in milliseconds", () => {
    expect(snapshot.document.timeouts).toEqual({
      production: { connect: 10_000, idle: 120_000, total: 3_600_000, ttfb: 250 },
    })
  })

  it("has its targets in failover order", () => {
    expect(orderTargets(snapshot.model("m")?.targets ?? [], undefined).map(({ model }) => model)).toEqual([
      "first",
      "second",
    ])
  })

  it("has the price that is in force at a time, and none before the first", () => {
    const inputAt = (date: string) => snapshot.price("m", "USD", Date.parse(date))?.input
    expect(inputAt("2025-12-31")).toBeUndefined()
    expect(inputAt("2026-03-01")).toBe(10n ** 10n)
    expect(inputAt("2026-06-01")).toBe(2n * 10n ** 10n)
    expect(snapshot.price("m", "EUR", Date.now())).toBeUndefined()
  })

  it("differs from another entry by entry", () => {
    const other = good.replace("name: O", "name: P").replace("production:", "staging:")
    const entries = ({ encoded }: typeof loaded) => entriesOf(JSON.parse(JSON.stringify(encoded)))
    const [before, after] = [entries(loaded), entries(Result.getOrThrow(loadCatalogue(other)))]
    // The times of the platform are listed also if an environment comes or goes.
    const production = Object.entries({ connect: "10s", idle: "2m", total: "1h", ttfb: "250ms" }).map(
      ([path, time]) => ({ path, time }),
    )
    expect(changesOf(before, after)).toEqual([
      {
        entry: "timeouts/staging",
        change: "added",
        fields: production.map(({ path, time }) => ({ path, after: time })),
      },
      { entry: "orgs/o", change: "changed", fields: [{ path: "name", before: '"O"', after: '"P"' }] },
      {
        entry: "timeouts/production",
        change: "removed",
        fields: production.map(({ path, time }) => ({ path, before: time })),
      },
    ])
    expect(changesOf(before, entries(loaded))).toEqual([])
    const plain = entries(Result.getOrThrow(loadCatalogue(good.replace("timeouts:", "timeouts:\n  ttfb: 3s"))))
    expect(changesOf(before, plain)).toEqual([
      { entry: "timeouts/ttfb", change: "added", fields: [{ path: "", after: "3s" }] },
    ])
  })
})

it("the guide's catalogue is valid", () => {
  const page = readFileSync(new URL("../../../src/docs/how-to/catalogue.md", import.meta.url), "utf8")
  const yaml = /```yaml\n([\s\S]*?)```/.exec(page)?.[1]
  expect(issues(yaml ?? "no catalogue")).toEqual([])
})
