/** Conversations over sockets: each client API speaks three turns with two vendors, of which one fails over to the other. */
import { describe, expect, it } from "vitest"
import { type JsonObject, parseObject } from "../../../src/dialects/parse/json.ts"
import {
  anthropicTwin,
  geminiTwin,
  newTestIds,
  openaiTwin,
  repeating,
  responsesTwin,
  serveTwin,
  type Twin,
  testCatalogue,
  type VendorCall,
} from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { clients, type Settings } from "../../unit/testing/twins/clients.ts"
import { type ClientName, callsIn } from "../../unit/testing/twins/through-weir.ts"

const twins: Readonly<Record<string, Twin>> = {
  openai: openaiTwin,
  responses: responsesTwin,
  anthropic: anthropicTwin,
  gemini: geminiTwin,
}
const models = { openai: "gpt", responses: "gpt", anthropic: "claude-sonnet-4-5", gemini: "gemini-3-pro" }
const names = ["openai", "responses", "anthropic", "gemini"] as const
const pairs = names.map((first, at) => [first, names[(at + 1) % names.length] ?? first] as const)

const twinAt = ({ path }: VendorCall): string => {
  if (path.includes("enerateContent")) return "gemini"
  if (path.endsWith("/messages")) return "anthropic"
  return path.endsWith("/responses") ? "responses" : "openai"
}

const ids = newTestIds()
const gateway = useGateway(() => ({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "models:\n",
        `models:\n${pairs
          .map(
            ([first, second]) =>
              `  - { handle: ${first}-first, maxOutput: 4000, capabilities: [tools, images, reasoning], targets: [{ vendor: ${first}, model: ${models[first]}, tier: 1 }, { vendor: ${second}, model: ${models[second]}, tier: 2 }] }\n`,
          )
          .join("")}`,
      )
      .replace(
        "prices:\n",
        `prices:\n${pairs.map(([first]) => `  - { model: ${first}-first, currency: USD, input: "3", output: "15", from: 2026-01-01 }\n`).join("")}`,
      )
      .replace("models: [main,", `models: [${pairs.map(([first]) => `${first}-first`).join(", ")}, main,`),
}))

const paths: Readonly<Record<ClientName, (model: string) => string>> = {
  "openai-chat": () => "/openai/v1/chat/completions",
  "openai-responses": () => "/openai/v1/responses",
  anthropic: () => "/anthropic/v1/messages",
  gemini: (model) => `/gemini/v1beta/models/${model}:generateContent`,
  t1: () => "/t1/exchange",
}

const settings: Settings = {
  system: "Be brief.",
  tools: [
    { name: "weather", schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
  ],
  choice: undefined,
  maxTokens: 2000,
  temperature: undefined,
  topP: undefined,
  stops: [],
  effort: undefined,
  output: undefined,
  isParallel: undefined,
}

const clientNames = ["openai-chat", "openai-responses", "anthropic", "gemini", "t1"] as const

describe.each(clientNames)("%s", (client) => {
  it.each(pairs)("over three turns with %s, which fails over to %s", async (first) => {
    const { say, append, answer, body } = clients[client]
    const refused: Array<string> = []
    const asked: Array<string> = []
    let down: string | undefined
    gateway().vendor.script((call) => {
      const name = twinAt(call)
      const twin = twins[name] ?? openaiTwin
      if (name === down) {
        call.head(503, { "content-type": "application/json" })
        return call.end("{}")
      }
      asked.push(name)
      const refusal = twin.refuse(call)
      if (refusal !== undefined) refused.push(JSON.stringify(refusal.body))
      return serveTwin(twin, repeating)(call)
    })
    const history: Array<object> = []
    const turn = async (): Promise<JsonObject> => {
      const model = `${first}-first`
      const sent = { ...body(settings, history), ...(client !== "gemini" && { model }) }
      const response = await gateway().call("POST", paths[client](model), sent)
      const text = await response.text()
      expect(response.status, `${text} ${refused}`).toBe(200)
      const reply = parseObject(text) ?? {}
      history.push(...append(reply))
      return reply
    }
    history.push(...say('Use weather {"city": "Oslo"}', true))
    const calls = callsIn(client, await turn())
    expect(calls).toMatchObject([{ name: "weather" }])
    history.push(...answer(calls.map((call) => ({ ...call, text: '{"c":7}', hasPicture: false, isError: false }))))
    down = first
    await turn()
    down = undefined
    history.push(...say('Use weather {"city": "Bergen"}', false))
    expect(callsIn(client, await turn())).toMatchObject([{ name: "weather" }])
    expect(refused).toEqual([])
    expect(asked).toHaveLength(3)
    expect(asked[1]).not.toBe(first)
  })
})
