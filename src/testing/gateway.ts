/**
 * A complete gateway for a test: real sockets, an embedded database in memory (or the servers of
 * `SVC_TEST_DATABASE_URL` and `SVC_TEST_REDIS_URL`), scripted vendors, one funded application.
 */
import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, type Scope } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { SqlClient } from "effect/sql"
import { Gate } from "../admission/gate.ts"
import { PlanCurve } from "../admission/plan-usage.ts"
import { BackgroundSpeed } from "../background.ts"
import { Calls } from "../calls/calls.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import { WeirConfig } from "../config.ts"
import { layerServer } from "../http/server.ts"
import { AccessTokens } from "../identity/access-tokens.ts"
import { Accounts } from "../identity/accounts.ts"
import { AdminKey, makeAdminKey } from "../identity/admin.ts"
import { Invitations } from "../identity/invitations.ts"
import { Logins, type LoginTokens } from "../identity/logins.ts"
import { Ledger } from "../money/ledger.ts"
import { Retention } from "../money/retention.ts"
import { ResolveSecret, resolveFromMachine, sha256 } from "../secrets.ts"
import { layerServices } from "../services.ts"
import { Shards } from "../store/shards/shards.ts"
import { layerLogs } from "../telemetry/logs.ts"
import { NodeProblems } from "../telemetry/node-problems.ts"
import { layerOtlp } from "../telemetry/otlp.ts"
import { Tenants } from "../tenants/tenants.ts"
import { ToolLists } from "../tool-servers/tool-lists.ts"
import { ToolPins } from "../tool-servers/tool-pins.ts"
import { ResolveHost } from "../upstream/egress.ts"
import { TargetHealth } from "../upstream/health.ts"
import type { LiveScript } from "./live-twin.ts"
import type { RealtimeScript } from "./scripted-realtime.ts"
import { startScriptedVendor, type VendorScript } from "./scripted-vendor.ts"
import { configValues, layerTestDatabases, type TestConfig, testStores } from "./stores.ts"
import type { TestGateway as OutsideGateway } from "./test-gateway.ts"
import { answering } from "./vendor-replies.ts"

export interface GatewayOptions {
  /** Replaces values of the configuration. */
  readonly config?: TestConfig
  /** The catalogue, given the vendors' URLs; {@link testCatalogue} if absent. */
  readonly catalogue?: (urls: { readonly vendor: string; readonly second: string }) => string
  /** The ids that the catalogue uses; new ones if absent. */
  readonly ids?: TestIds
  readonly script?: VendorScript
  /** How the first vendor answers realtime sessions. */
  readonly realtime?: RealtimeScript
  /** How it answers sessions with Google's Live API. */
  readonly live?: LiveScript
  /** Resolves host names for the egress guard; the system's resolver if absent. */
  readonly resolveHost?: (host: string) => Promise<ReadonlyArray<string>>
  /** The factor by which background work comes sooner than usual, for tests that wait for it. */
  readonly backgroundSpeed?: number
}

/** The gateway of this repository's tests: other projects get {@link OutsideGateway}. */
export interface TestGateway extends Omit<OutsideGateway, "balance"> {
  /** Runs calls of any kind, without a route. */
  readonly calls: Calls["Service"]
  readonly ledger: Ledger["Service"]
  readonly tools: { readonly lists: ToolLists["Service"]; readonly pins: ToolPins["Service"] }
  readonly gate: Gate["Service"]
  readonly health: TargetHealth["Service"]
  readonly catalogue: Catalogue["Service"]
  readonly tenants: Tenants["Service"]
  readonly accessTokens: AccessTokens["Service"]
  readonly planCurve: PlanCurve["Service"]
  /** Logs a person in without a mailed code. */
  readonly logIn: (email: string) => Promise<LoginTokens>
  /** The value of the cookie of a browser in which a person is logged in. */
  readonly browserToken: (login: LoginTokens) => Promise<string>
  readonly sql: SqlClient.SqlClient
  readonly shards: Shards["Service"]
  readonly retention: Retention["Service"]
}

/** A request that every model of the default catalogue accepts. */
export const hello = {
  model: "main",
  thread: [{ role: "user", blocks: [{ t: "text", v: "Hello, river" }] }],
} as const

const answer = { words: ["Hello", " ", "there"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }

export const testKey = "wk_test_secret"
const testKeyRef = "env:WEIR_TEST_KEY"

/** A separate organisation for every gateway, so that gateways on one database do not interfere. */
export const testCatalogue = (
  { vendor, second }: { readonly vendor: string; readonly second: string },
  ids: TestIds,
  more = "",
): string => `
version: 1
vendors:
  - { id: openai, dialect: openai-chat, baseUrl: "${vendor}/v1", credential: "env:WEIR_TEST_VENDOR" }
  - { id: anthropic, dialect: anthropic, baseUrl: "${vendor}", credential: "env:WEIR_TEST_VENDOR" }
  - { id: responses, dialect: openai-responses, baseUrl: "${vendor}/v1", credential: "env:WEIR_TEST_VENDOR" }
  - { id: gemini, dialect: gemini, baseUrl: "${vendor}", credential: "env:WEIR_TEST_VENDOR" }
  - { id: second, dialect: openai-chat, baseUrl: "${second}/v1", credential: "env:WEIR_TEST_VENDOR" }
  - { id: draining, dialect: openai-chat, baseUrl: "${vendor}/v1", clientGone: drain }
  - { id: unreachable, dialect: openai-chat, baseUrl: "http://127.0.0.1:9/v1" }
models:
  - handle: main
    contextWindow: 10000
    maxOutput: 2000
    capabilities: [tools, images, files, reasoning, cache]
    params: { maxTokens: { default: 500 }, temperature: { max: 1 } }
    targets: [{ vendor: openai, model: upstream-main }]
  - { handle: claude, capabilities: [tools, images, files, reasoning, cache], maxOutput: 2000, targets: [{ vendor: anthropic, model: upstream-claude }] }
  - { handle: responses, capabilities: [tools, images, files, reasoning, cache], maxOutput: 2000, targets: [{ vendor: responses, model: upstream-responses }] }
  - { handle: gemini, capabilities: [tools, images, files, reasoning, cache], maxOutput: 2000, targets: [{ vendor: gemini, model: gemini-3-test }] }
  - { handle: plain, maxOutput: 100, targets: [{ vendor: openai, model: upstream-plain }] }
  - { handle: pool, maxOutput: 100, targets: [{ vendor: openai, model: a, tier: 1 }, { vendor: second, model: b, tier: 2 }] }
  - { handle: drained, maxOutput: 100, targets: [{ vendor: draining, model: a }] }
  - { handle: nowhere, maxOutput: 100, targets: [{ vendor: unreachable, model: a }] }
  - { handle: direct, mode: direct, maxOutput: 100, targets: [{ vendor: openai, model: a }] }
  - { handle: unpriced, maxOutput: 100, targets: [{ vendor: openai, model: a }] }
  - { handle: foreign, maxOutput: 100, targets: [{ vendor: openai, model: a }] }
prices:
${["main", "claude", "responses", "gemini", "plain", "pool", "drained", "nowhere", "direct", "foreign"]
  .map(
    (model) => `  - { model: ${model}, currency: USD, input: "3", output: "15", cacheRead: "0.3", from: 2026-01-01 }`,
  )
  .join("\n")}
plans:
  - { id: team, perMinute: 100000 }
orgs:
  - { id: ${ids.org}, name: Test, plan: team, currency: USD, models: [main, claude, responses, gemini, plain, pool, drained, nowhere, direct, unpriced] }
apps:
  - { id: ${ids.app}, org: ${ids.org} }
keys:
  - { id: ${ids.key}, app: ${ids.app}, secret: "${testKeyRef}" }
topups:
  - { id: ${ids.org}-start, org: ${ids.org}, amount: "1000" }
${more}`

export interface TestIds {
  readonly org: string
  readonly app: string
  readonly key: string
}

export const newTestIds = (): TestIds => {
  const id = randomUUID().slice(0, 8)
  return { org: `org_${id}`, app: `app_${id}`, key: `key_${id}` }
}

/** Access keys that {@link startGateway} knows as `env:WEIR_TEST_AWS_ID` and `env:WEIR_TEST_AWS_SECRET`. */
export const testAwsKeys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "aws-secret-of-tests" }

/** The secret that {@link startGateway} knows as `env:WEIR_TEST_NEW_WEBHOOK`, to which that is rotated. */
export const testNewWebhookSecret = `whsec_${Buffer.alloc(32, 8).toString("base64")}`

/** The secret that {@link startGateway} knows as `env:WEIR_TEST_WEBHOOK`. */
export const testWebhookSecret = `whsec_${Buffer.alloc(32, "webhook").toString("base64")}`

const testSecrets = new Map([
  ["env:WEIR_TEST_VENDOR", "vendor-credential"],
  ["env:WEIR_TEST_AWS_ID", testAwsKeys.accessKeyId],
  ["env:WEIR_TEST_AWS_SECRET", testAwsKeys.secretAccessKey],
  ["env:WEIR_TEST_WEBHOOK", testWebhookSecret],
  ["env:WEIR_TEST_NEW_WEBHOOK", testNewWebhookSecret],
])

const resolveTestSecret = (ref: string): string | undefined => {
  if (ref === testKeyRef) return testKey
  if (ref.startsWith("file:")) return resolveFromMachine(ref)
  return testSecrets.get(ref)
}

/** Starts a gateway; it stops when the scope closes. */
export const startGateway = (options: GatewayOptions = {}): Effect.Effect<TestGateway, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const ids = options.ids ?? newTestIds()
    const adminKey = "wa_test_secret"
    const vendor = yield* startScriptedVendor(options.script ?? answering(answer), options.realtime, 0, options.live)
    const second = yield* startScriptedVendor(options.script ?? answering(answer))
    // A slow test machine must not cause load shedding, nor make its stores look dead.
    const config = WeirConfig.layerWith({
      env: "test",
      logLevel: "None",
      port: 0,
      shedLagMs: 60_000,
      shedWaitMs: 60_000,
      databaseDeadlineMs: 30_000,
      redisDeadlineMs: 30_000,
      openDetails: true,
      lameDuckMs: 0,
      // Reads the machine on which the tests run.
      httpsProxy: undefined,
      ...(yield* testStores),
      ...configValues(options.config),
    })
    const gateway = layerServer.pipe(
      Layer.provideMerge(
        Layer.succeed(
          AdminKey,
          makeAdminKey(() => sha256(adminKey).toString("hex")),
        ),
      ),
      Layer.provideMerge(layerServices),
      Layer.provide(layerOtlp),
      Layer.provideMerge(NodeProblems.layer),
      Layer.provide(layerLogs),
      Layer.provideMerge(config),
      Layer.provide(Layer.succeed(ResolveSecret, resolveTestSecret)),
      Layer.provide(layerTestDatabases),
      Layer.provide(Layer.succeed(BackgroundSpeed, options.backgroundSpeed ?? 1)),
      Layer.provide(options.resolveHost === undefined ? Layer.empty : Layer.succeed(ResolveHost, options.resolveHost)),
    )
    const services = yield* Layer.build(gateway)
    const urls = { vendor: vendor.url, second: second.url }
    const catalogue = Context.get(services, Catalogue)
    yield* catalogue.apply(options.catalogue?.(urls) ?? testCatalogue(urls, ids))
    const baseUrl = NetAddress.formatUrlUnsafe(Context.get(services, HttpServer.HttpServer).address)
    return {
      baseUrl,
      vendor,
      second,
      keyId: ids.key,
      key: testKey,
      adminKey,
      orgId: ids.org,
      calls: Context.get(services, Calls),
      ledger: Context.get(services, Ledger),
      tools: { lists: Context.get(services, ToolLists), pins: Context.get(services, ToolPins) },
      gate: Context.get(services, Gate),
      health: Context.get(services, TargetHealth),
      catalogue,
      tenants: Context.get(services, Tenants),
      accessTokens: Context.get(services, AccessTokens),
      planCurve: Context.get(services, PlanCurve),
      logIn: (email) =>
        Effect.runPromise(
          Effect.flatMap(Context.get(services, Accounts).forVerifiedEmail(email), (account) =>
            Effect.tap(Context.get(services, Logins).begin(account, "otp"), () =>
              Context.get(services, Invitations).acceptOnly(account),
            ),
          ),
        ),
      browserToken: (login) => Effect.runPromise(Context.get(services, Logins).browserToken(login)),
      sql: Context.get(services, SqlClient.SqlClient),
      shards: Context.get(services, Shards),
      retention: Context.get(services, Retention),
      call: (method, path, body, headers = {}) => {
        const all = { "content-type": "application/json", "x-svc-key-id": ids.key, "x-svc-key": testKey, ...headers }
        return fetch(`${baseUrl}${path}`, {
          method,
          headers: Object.entries(all).filter((header): header is [string, string] => header[1] !== undefined),
          ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
        })
      },
      exchange: (body, init = {}) =>
        fetch(`${baseUrl}/t1/exchange`, {
          method: "POST",
          body: typeof body === "string" ? body : JSON.stringify(body),
          ...init,
          headers: {
            "content-type": "application/json",
            "x-svc-key-id": ids.key,
            "x-svc-key": testKey,
            ...init.headers,
          },
        }),
    }
  })
