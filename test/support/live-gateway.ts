/** A gateway with a model of Google's Live API, whose vendor is a strict twin, for tests. */
import { Effect, type Scope } from "effect"
import { type GatewayOptions, newTestIds, startGateway, testCatalogue } from "../../src/testing/gateway.ts"
import { type LiveScript, type LiveTwin, startLiveTwin } from "../../src/testing/live-twin.ts"
import { type RealtimeGateway, realtimeBooks } from "./realtime-gateway.ts"
import { openSocket, type TestSocket } from "./socket-client.ts"

export const livePath = "/gemini/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

export interface LiveGateway extends Omit<RealtimeGateway, "vendor" | "open"> {
  readonly twin: LiveTwin
  /** Opens a socket, and sends a first message. */
  readonly open: (config?: object, path?: string) => Promise<TestSocket>
  readonly credential: string
}

/** Prices per million. */
const prices = `  - { model: live, currency: USD, input: "0.5", output: "2", cacheRead: "0.1", dims: { audio_in: "3", audio_out: "12", cache_read_audio: "0.3", image_in: "3" }, from: 2026-01-01 }
  - { model: voice, currency: USD, input: "4", output: "16", from: 2026-01-01 }`

export const startLiveGateway = (
  script: LiveScript,
  options: Omit<GatewayOptions, "catalogue"> & {
    readonly more?: string
    readonly orgMore?: string
    readonly topup?: string
    readonly plan?: string
    readonly model?: string
    readonly vendors?: (url: string) => string
    readonly targets?: string
  } = {},
): Effect.Effect<LiveGateway, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const twin = yield* startLiveTwin(script)
    const ids = options.ids ?? newTestIds()
    const {
      model = "contextWindow: 32000, maxOutput: 8192, capabilities: [tools]",
      more = "",
      orgMore = "",
      topup = "1000",
      plan = "perMinute: 100000",
      vendors = (url) => `  - { id: google, dialect: gemini, baseUrl: "${url}", credential: "env:WEIR_TEST_VENDOR" }`,
      targets = "{ vendor: google, model: gemini-live-2.5 }",
    } = options
    const gateway = yield* startGateway({
      ...options,
      ids,
      catalogue: (urls) =>
        testCatalogue(urls, ids, more)
          .replace(
            "models:\n",
            `${vendors(twin.url)}
  - { id: spoken, dialect: openai-chat, baseUrl: "${twin.url}/v1", credential: "env:WEIR_TEST_VENDOR" }
models:
  - { handle: live, kind: realtime, ${model}, targets: [${targets}] }
  - { handle: voice, kind: realtime, targets: [{ vendor: spoken, model: vendor-realtime }] }
`,
          )
          .replace("prices:\n", `prices:\n${prices}\n`)
          .replace("models: [main,", "models: [live, voice, main,")
          .replace("currency: USD, models:", `currency: USD, ${orgMore}models:`)
          .replace("id: team, perMinute: 100000", `id: team, ${plan}`)
          .replace(`amount: "1000"`, `amount: "${topup}"`),
    })
    const credential = `${gateway.keyId}~${gateway.key}`
    return {
      gateway,
      twin,
      credential,
      open: async (config = { model: "models/live" }, path = `${livePath}?key=${credential}`) => {
        const socket = await openSocket(`${gateway.baseUrl}${path}`)
        socket.send({ setup: config })
        return socket
      },
      ...realtimeBooks(gateway),
    }
  })
