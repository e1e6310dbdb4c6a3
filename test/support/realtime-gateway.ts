/** A gateway with a model for realtime sessions, for tests. */
import { Effect, type Scope } from "effect"
import {
  type GatewayOptions,
  newTestIds,
  startGateway,
  type TestGateway,
  testCatalogue,
} from "../../src/testing/gateway.ts"
import { type RealtimeScript, type RealtimeVendor, startRealtimeVendor } from "../../src/testing/scripted-realtime.ts"
import { openSocket, type TestSocket } from "./socket-client.ts"

export interface RealtimeGateway {
  readonly gateway: TestGateway
  readonly vendor: RealtimeVendor
  /** Opens a session. */
  readonly open: (query?: string, headers?: Readonly<Record<string, string>>) => Promise<TestSocket>
  /** Its usage records, oldest first. */
  readonly records: () => Promise<ReadonlyArray<UsageRow>>
  /** The amount that is held and was not settled, as a decimal. */
  readonly held: () => Promise<bigint>
}

export interface UsageRow {
  readonly ref: string
  readonly session_id: string | null
  readonly purpose: string
  readonly model: string
  readonly vendor: string
  readonly in_tokens: string | number
  readonly out_tokens: string | number
  readonly cache_read_tokens: string | number
  readonly dims: Readonly<Record<string, number>>
  readonly estimated_reason: string | null
  readonly policies: ReadonlyArray<object> | null
  readonly stop: string
  readonly cost: string
}

/** Prices per million. */
export const realtimePrices = `  - { model: voice, currency: USD, input: "4", output: "16", cacheRead: "0.4", dims: { audio_in: "32", audio_out: "64", cache_read_audio: "0.5", image_in: "5" }, from: 2026-01-01 }`

export const startRealtimeGateway = (
  script: RealtimeScript,
  options: Omit<GatewayOptions, "catalogue"> & {
    readonly model?: string
    readonly more?: string
    readonly orgMore?: string
    readonly profile?: string
    readonly topup?: string
    readonly plan?: string
    /** More prices of units, e.g. `audio_seconds: "1"`. */
    readonly dims?: string
  } = {},
): Effect.Effect<RealtimeGateway, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const vendor = yield* startRealtimeVendor(script)
    const ids = options.ids ?? newTestIds()
    const {
      model = "contextWindow: 32000, maxOutput: 4096, capabilities: [tools]",
      profile,
      more = "",
      orgMore = "",
      topup,
      plan,
      dims,
    } = options
    const gateway = yield* startGateway({
      ...options,
      ids,
      catalogue: (urls) =>
        testCatalogue(urls, ids, more)
          .replace(
            "models:\n",
            `  - { id: voices, dialect: openai-chat, ${profile === undefined ? "" : `profile: ${profile}, `}baseUrl: "${vendor.url}${profile === "azure" ? "" : "/v1"}", credential: "env:WEIR_TEST_VENDOR" }
models:
  - { handle: voice, kind: realtime, ${model}, targets: [{ vendor: voices, model: vendor-realtime }] }
`,
          )
          .replace(
            "prices:\n",
            `prices:\n${dims === undefined ? realtimePrices : realtimePrices.replace("dims: { ", `dims: { ${dims}, `)}\n`,
          )
          .replace("models: [main,", "models: [voice, main,")
          .replace("currency: USD, models:", `currency: USD, ${orgMore}models:`)
          .replace("id: team, perMinute: 100000", `id: team, ${plan ?? "perMinute: 100000"}`)
          .replace(`amount: "1000"`, `amount: "${topup ?? "1000"}"`),
    })
    return {
      gateway,
      vendor,
      open: (query = "model=voice", headers = {}) =>
        openSocket(`${gateway.baseUrl}/openai/v1/realtime?${query}`, {
          authorization: `Bearer ${gateway.keyId}~${gateway.key}`,
          ...headers,
        }),
      ...realtimeBooks(gateway),
    }
  })

/** The books of the organisation of a gateway. */
export const realtimeBooks = ({ sql, orgId, ledger }: TestGateway): Pick<RealtimeGateway, "records" | "held"> => ({
  records: () =>
    Effect.runPromise(sql<UsageRow>`
      select ref, session_id, purpose, model, vendor, in_tokens, out_tokens, cache_read_tokens, dims, estimated_reason, policies, stop,
        trim_scale(cost)::text as cost
      from usage_records where org_id = ${orgId} order by at, ref`),
  held: () =>
    Effect.runPromise(
      Effect.map(ledger.allotments, (all) =>
        all.filter((each) => each.orgId === orgId && each.counter === "USD").reduce((sum, { held }) => sum + held, 0n),
      ),
    ),
})
