/** Strict twins of vendors beside a started gateway, each behind a model, for agents that speak another API than the vendor. */
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { Effect, Schema, type Scope } from "effect"
import { CatalogueText } from "../src/protocol/control/activity.ts"
import { startScriptedVendor } from "../src/testing/scripted-vendor.ts"
import { anthropicTwin } from "../src/testing/twins/anthropic/twin.ts"
import { geminiTwin } from "../src/testing/twins/gemini/twin.ts"
import { chatTwins } from "../src/testing/twins/openai/chat-twin.ts"
import { repeating } from "../src/testing/twins/repeating.ts"
import { serveTwin, type Twin } from "../src/testing/twins/twin.ts"

interface TwinVendor {
  readonly twin: Twin
  /** The vendor in the catalogue; its address is the twin's. */
  readonly vendor: string
  /** The end of the vendor's base URL, after its address. */
  readonly path: string
  /** The vendor's own name for the model. */
  readonly model: string
}

/** The vendors by the handle of their model. */
const vendors = {
  deepseek: {
    twin: chatTwins.deepseek,
    vendor: "dialect: openai-chat, profile: deepseek",
    path: "/v1",
    model: "deepseek-chat",
  },
  mistral: {
    twin: chatTwins.mistral,
    vendor: "dialect: openai-chat, profile: mistral",
    path: "/v1",
    model: "mistral-large-latest",
  },
  claude: { twin: anthropicTwin, vendor: "dialect: anthropic", path: "", model: "claude-sonnet-4-5" },
  gemini: { twin: geminiTwin, vendor: "dialect: gemini", path: "", model: "gemini-3-pro" },
} satisfies Readonly<Record<string, TwinVendor>>

export type TwinModel = keyof typeof vendors

/**
 * The name of a twin's model for Codex, which derives from the beginning of a name what the model can do: those of `gpt-5.5` have
 * `apply_patch` with a text and a grammar.
 */
export const patchingName = (model: string): string => `gpt-5.5-${model}`

/** The refusals of the twins, and the calls of each, since the last look. */
export interface TwinLog {
  readonly calls: Map<string, number>
  readonly refusals: Array<string>
}

/** Starts the twins and adds them, with a model each, to the catalogue in force. */
export const addTwins = (baseUrl: string, adminKey: string): Effect.Effect<TwinLog, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const log: TwinLog = { calls: new Map(), refusals: [] }
    const entries: Array<Entry> = []
    for (const [model, served] of Object.entries<TwinVendor>(vendors)) {
      const { url } = yield* startScriptedVendor(logged(model, served.twin, log))
      entries.push({ handle: model, url, ...served })
    }
    yield* Effect.tryPromise(() => apply(baseUrl, adminKey, entries))
    return log
  })

type Entry = TwinVendor & { readonly handle: string; readonly url: string }

const logged = (model: string, twin: Twin, log: TwinLog): ReturnType<typeof serveTwin> => {
  const serve = serveTwin(twin, repeating)
  return (call) => {
    log.calls.set(model, (log.calls.get(model) ?? 0) + 1)
    const refusal = twin.refuse(call)
    if (refusal !== undefined) log.refusals.push(`${model}: ${JSON.stringify(refusal.body)}`)
    return serve(call)
  }
}

const apply = async (baseUrl: string, adminKey: string, entries: ReadonlyArray<Entry>): Promise<void> => {
  const headers = { "x-svc-admin-key": adminKey, "content-type": "application/json" }
  const read = await fetch(`${baseUrl}/v1/admin/catalogue`, { headers })
  const { text = "" } = Schema.decodeUnknownSync(CatalogueText)(await read.json())
  const body = JSON.stringify({ text: withEntries(text, entries) })
  const applied = await fetch(`${baseUrl}/v1/admin/catalogue`, { method: "POST", headers, body })
  if (!applied.ok) throw new Error(`The catalogue was refused: ${await applied.text()}`)
}

const withEntries = (text: string, entries: ReadonlyArray<Entry>): string =>
  text
    .replace("vendors:\n", (list) => list + lines(entries, vendorLine))
    .replace("models:\n", (list) => list + lines(entries, modelLine))
    .replace("prices:\n", (list) => list + lines(entries, priceLine))
    .replace(
      "aliases: {",
      (map) => `${map} ${entries.map(({ handle }) => `${patchingName(handle)}: ${handle}`).join(", ")},`,
    )
    // A server of tools that writes files, for agents that use the gateway's tools.
    .replace("orgs:\n", (list) => `toolServers:\n  - { id: files, ${filesServer} }\n${list}`)
    .replace("keeps: {", (map) => `tools: [files], ${map}`)
    .replace("models: [main,", (list) => `${list} ${entries.map(({ handle }) => handle).join(", ")},`)

const serverModule = fileURLToPath(
  new URL("../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", import.meta.url),
)
const filesServer = `command: { program: "${process.execPath}", arguments: ["${serverModule}", "${tmpdir()}"] }`

const lines = (entries: ReadonlyArray<Entry>, line: (entry: Entry) => string): string =>
  entries.map((entry) => `  - { ${line(entry)} }\n`).join("")

const vendorLine = ({ handle, url, vendor, path }: Entry): string =>
  `id: ${handle}, ${vendor}, baseUrl: "${url}${path}"`

const modelLine = ({ handle, model }: Entry): string =>
  `handle: ${handle}, contextWindow: 200000, maxOutput: 32000, capabilities: [tools, images, files, reasoning, cache], params: { verbosity: { strip: true } }, ` +
  `targets: [{ vendor: ${handle}, model: ${model} }]`

const priceLine = ({ handle }: Entry): string =>
  `model: ${handle}, currency: USD, input: "3", output: "15", cacheRead: "0.3", cacheWrite: "3.75", from: 2026-01-01`
