/** A gateway with a strict twin of each API behind a model, and a task of three steps for helpers of SDKs. */
import { expect } from "vitest"
import {
  anthropicTwin,
  chatTwins,
  type GatewayOptions,
  geminiTwin,
  newTestIds,
  responsesTwin,
  type ScriptedVendor,
  serveTwin,
  type Twin,
  type TwinAsked,
  type TwinScript,
  testCatalogue,
  type VendorScript,
} from "../../../src/testing/index.ts"

interface Served {
  readonly twin: Twin
  readonly vendor: string
  readonly model: string
}

/** Each model's vendor has the model's name in its address. */
const served = {
  openai: { twin: chatTwins.openai, vendor: "dialect: openai-chat", model: "gpt-5" },
  deepseek: { twin: chatTwins.deepseek, vendor: "dialect: openai-chat, profile: deepseek", model: "deepseek-chat" },
  mistral: { twin: chatTwins.mistral, vendor: "dialect: openai-chat, profile: mistral", model: "mistral-large" },
  responses: { twin: responsesTwin, vendor: "dialect: openai-responses", model: "gpt-5" },
  claude: { twin: anthropicTwin, vendor: "dialect: anthropic", model: "claude-sonnet-4-5" },
  gemini: { twin: geminiTwin, vendor: "dialect: gemini", model: "gemini-3-pro" },
} satisfies Readonly<Record<string, Served>>

export const twinModels = ["openai", "deepseek", "mistral", "responses", "claude", "gemini"] as const
export type TwinModel = (typeof twinModels)[number]

const entries = Object.entries<Served>(served)

export const onTwins = (): GatewayOptions => {
  const ids = newTestIds()
  return {
    ids,
    catalogue: ({ vendor, second }) =>
      testCatalogue({ vendor, second }, ids)
        .replace(/^vendors:\n/m, (list) => list + entries.map(vendorLine(vendor)).join(""))
        .replace(/^models:\n/m, (list) => list + entries.map(modelLine).join(""))
        .replace(/^prices:\n/m, (list) => list + entries.map(priceLine).join(""))
        .replace("models: [main,", `models: [${entries.map(([name]) => `twin-${name}`).join(", ")}, main,`),
  }
}

type Entry = readonly [name: string, served: Served]

const vendorLine =
  (url: string) =>
  ([name, { vendor, twin }]: Entry): string =>
    `  - { id: twin-${name}, ${vendor}, baseUrl: "${url}/${name}${twin.dialect.startsWith("openai") ? "/v1" : ""}", credential: "env:WEIR_TEST_VENDOR" }\n`

const modelLine = ([name, { model }]: Entry): string =>
  `  - { handle: twin-${name}, maxOutput: 20000, capabilities: [tools, images, files, reasoning, cache], targets: [{ vendor: twin-${name}, model: ${model} }] }\n`

const priceLine = ([name]: Entry): string =>
  `  - { model: twin-${name}, currency: USD, input: "3", output: "15", cacheRead: "0.3", from: 2026-01-01 }\n`

/**
 * Lets the vendors answer by a script, and holds that no twin refuses a request.
 * @param fails whether a request gets a failure of its vendor
 */
export const answerBy = (
  vendor: ScriptedVendor,
  script: TwinScript,
  fails: (asked: TwinAsked) => boolean = () => false,
): void => {
  const serve: VendorScript = (call) => {
    const [, name = ""] = call.path.split("/")
    const twin = entries.find(([known]) => known === name)?.[1].twin
    if (twin === undefined) throw new Error(`No twin at ${call.path}`)
    const refusal = twin.refuse(call)
    // The connection is not left open where the expectation fails.
    if (refusal !== undefined) call.reset()
    expect(refusal, call.sent.toString("utf8")).toBeUndefined()
    if (fails(twin.asked(call))) {
      call.head(500)
      return call.end("{}")
    }
    return serveTwin(twin, script)(call)
  }
  vendor.script(serve)
}

/** Asks for two cities at once, then for a third, and answers with the last result and its source. */
export const threeSteps: TwinScript = ({ calls, texts }) => {
  const call = (city: string, n: number) =>
    ({ t: "call", id: `call_${n}`, name: "weather", args: JSON.stringify({ city }) }) as const
  if (calls === 0) return { blocks: [{ t: "text", pieces: ["Let me ", "look. "] }, call("Oslo", 1), call("Rome", 2)] }
  if (calls === 2) return { blocks: [{ t: "text", pieces: ["One ", "more. "] }, call("Bergen", 3)] }
  return { blocks: [{ t: "text", pieces: ["It is ", `${texts.join(", ")}.`], citations: [source] }] }
}

const source = { url: "https://example.com/weather", title: "Weather", text: "12 degrees in Bergen" }

/** The words of the last step. */
export const lastWords = "It is 12 degrees in Bergen."
