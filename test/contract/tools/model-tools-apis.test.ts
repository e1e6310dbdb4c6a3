/** Tools of the gateway's servers in the APIs that have such tools, by their official clients, with a strict twin of each vendor. */
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { afterAll, describe, expect, it } from "vitest"
import type { TwinScript } from "../../../src/testing/index.ts"
import { replyOf, useGateway } from "../../support/gateway.ts"
import { openSocket } from "../../support/socket-client.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"
import { answerBy, onTwins, twinModels } from "../compatible/twin-vendors.ts"

const server = await startToolServer({
  isStateless: true,
  tools: {
    forecast: ({ params }) => textResult(`12 degrees in ${String(params["city"])}`),
    broken: () => textResult("no such city", { isError: true }),
  },
})
afterAll(() => server.stop())

const gateway = useGateway(() => {
  const options = onTwins()
  return {
    ...options,
    catalogue: (urls) =>
      `${options.catalogue?.(urls) ?? ""}
toolServers:
  - { id: weather, url: "${server.url}" }
`
        .replace("unpriced] }", "unpriced], tools: ['*'] }")
        .replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
  }
})

const apiKey = () => `${gateway().keyId}~${gateway().key}`
const openai = () => new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey(), maxRetries: 0 })
const anthropic = () => new Anthropic({ baseURL: `${gateway().baseUrl}/anthropic`, apiKey: apiKey(), maxRetries: 0 })

/** Two cities at once, then the last result. */
const cities: TwinScript = ({ calls, texts }) => {
  const call = (city: string, n: number) =>
    ({ t: "call", id: `call_${n}`, name: "weather__forecast", args: JSON.stringify({ city }) }) as const
  if (calls === 0) return { blocks: [{ t: "text", pieces: ["Let me look. "] }, call("Oslo", 1), call("Rome", 2)] }
  return { blocks: [{ t: "text", pieces: [`It is ${texts.join(", ")}.`] }] }
}
const counting: TwinScript = ({ calls }) => ({ blocks: [{ t: "text", pieces: [`after ${calls} calls`] }] })
const last = "It is 12 degrees in Oslo, 12 degrees in Rome."

const mcp = (more: object = {}) => ({
  type: "mcp" as const,
  server_label: "meteo",
  server_url: `${gateway().baseUrl}/mcp/weather`,
  require_approval: "never" as const,
  ...more,
})

describe.each(twinModels)("responses served by %s", (model) => {
  const asked = (more: object = {}) => ({
    model: `twin-${model}`,
    input: "Weather?",
    tools: [mcp()],
    ...more,
  })

  it("have the calls of a server's tools, whole and streamed, and go on", async () => {
    answerBy(gateway().vendor, cities)
    const whole = await openai().responses.create(asked())
    expect(whole.output_text.endsWith(last)).toBe(true)
    const items = whole.output.filter(({ type }) => type !== "reasoning")
    expect(items).toMatchObject([
      { type: "message" },
      { type: "mcp_call", server_label: "meteo", name: "forecast", output: "12 degrees in Oslo", status: "completed" },
      { type: "mcp_call", arguments: '{"city":"Rome"}', output: "12 degrees in Rome", error: null },
      { type: "message" },
    ])
    const stream = openai().responses.stream(asked())
    const seen: Array<string> = []
    for await (const { type } of stream) seen.push(type)
    const streamed = await stream.finalResponse()
    expect(streamed.output_text).toBe(whole.output_text)
    expect(streamed.output.filter(({ type }) => type === "mcp_call")).toMatchObject([
      { output: "12 degrees in Oslo" },
      { output: "12 degrees in Rome" },
    ])
    expect(seen.filter((type) => /mcp_call\.\w+$/.test(type))).toEqual([
      "response.mcp_call.in_progress",
      "response.mcp_call.in_progress",
      "response.mcp_call.completed",
      "response.mcp_call.completed",
    ])
    answerBy(gateway().vendor, counting)
    const input = [{ role: "user", content: "Weather?" }, ...whole.output, { role: "user", content: "And now?" }]
    expect((await openai().responses.create(asked({ input }))).output_text).toBe("after 2 calls")
    const kept = { previous_response_id: whole.id, input: "And now?" }
    expect((await openai().responses.create(asked(kept))).output_text).toBe("after 2 calls")
  })
})

describe("approval of responses' calls", () => {
  const once: TwinScript = ({ calls, texts }) =>
    calls === 0
      ? { blocks: [{ t: "call", id: "call_1", name: "weather__forecast", args: '{"city":"Oslo"}' }] }
      : { blocks: [{ t: "text", pieces: [texts.join()] }] }
  const tools = (): Array<OpenAI.Responses.Tool> => [
    { type: "mcp", server_label: "meteo", server_url: `${gateway().baseUrl}/mcp/weather` },
  ]

  it("is asked for where nothing is said, and given by the next request", async () => {
    answerBy(gateway().vendor, once)
    const first = await openai().responses.create({ model: "twin-openai", input: "Weather?", tools: tools() })
    const [request] = first.output.filter((item) => item.type === "mcp_approval_request")
    expect(request).toMatchObject({ server_label: "meteo", name: "forecast", arguments: '{"city":"Oslo"}' })
    const answer = (approve: boolean) => [
      { type: "mcp_approval_response" as const, approval_request_id: request?.id ?? "", approve },
    ]
    const next = { model: "twin-openai", tools: tools(), previous_response_id: first.id }
    const done = await openai().responses.create({ ...next, input: answer(true) })
    expect(done.output).toMatchObject([
      { type: "mcp_call", approval_request_id: request?.id, name: "forecast", output: "12 degrees in Oslo" },
      { type: "message" },
    ])
    expect(done.output_text).toBe("12 degrees in Oslo")
    const refused = await openai().responses.create({ ...next, input: answer(false) })
    expect(refused.output_text).toBe("The user does not allow this call.")
    const stream = openai().responses.stream({ ...next, input: answer(true) })
    expect((await stream.finalResponse()).output).toMatchObject([{ type: "mcp_call" }, { type: "message" }])
    const streamed = openai().responses.stream({ model: "twin-openai", input: "Weather?", tools: tools() })
    expect((await streamed.finalResponse()).output).toMatchObject([{ type: "mcp_approval_request" }])
    answerBy(gateway().vendor, counting)
    const after = { ...next, previous_response_id: done.id, input: "And now?" }
    expect((await openai().responses.create(after)).output_text).toBe("after 1 calls")
  })
})

describe.each(twinModels)("messages served by %s", (model) => {
  const asked = (more: object = {}) => ({
    model: `twin-${model}`,
    max_tokens: 1000,
    messages: [{ role: "user" as const, content: "Weather?" }],
    mcp_servers: [{ type: "url" as const, url: `${gateway().baseUrl}/mcp/weather`, name: "meteo" }],
    tools: [{ type: "mcp_toolset" as const, mcp_server_name: "meteo" }],
    betas: ["mcp-client-2025-11-20"],
    ...more,
  })

  it("have the calls of a server's tools, whole and streamed, and go on", async () => {
    answerBy(gateway().vendor, cities)
    const whole = await anthropic().beta.messages.create(asked())
    const shown = whole.content.filter(({ type }) => !/thinking/.test(type))
    expect(shown).toMatchObject([
      { type: "text" },
      { type: "mcp_tool_use", id: "call_1", name: "forecast", server_name: "meteo", input: { city: "Oslo" } },
      { type: "mcp_tool_use", id: "call_2" },
      { type: "mcp_tool_result", tool_use_id: "call_1", content: [{ type: "text", text: "12 degrees in Oslo" }] },
      { type: "mcp_tool_result", tool_use_id: "call_2", is_error: false },
      { type: "text", text: last },
    ])
    expect(whole.stop_reason).toBe("end_turn")
    const streamed = await anthropic().beta.messages.stream(asked()).finalMessage()
    expect(streamed.content.map(({ type }) => type)).toEqual(whole.content.map(({ type }) => type))
    expect(streamed.content.at(-1)).toMatchObject({ type: "text", text: last })
    answerBy(gateway().vendor, counting)
    const messages = [
      { role: "user" as const, content: "Weather?" },
      { role: "assistant" as const, content: whole.content },
      { role: "user" as const, content: "And now?" },
    ]
    const next = await anthropic().beta.messages.create(asked({ messages }))
    expect(next.content.at(-1)).toMatchObject({ text: "after 2 calls" })
  })
})

describe("servers that are not the gateway's", () => {
  it("stay with a vendor of the same API", async () => {
    answerBy(gateway().vendor, counting)
    const other = mcp({ server_url: "https://mcp.example.com/mcp/weather" })
    await openai().responses.create({ model: "twin-responses", input: "Hi", tools: [other] })
    expect(gateway().vendor.calls.at(-1)?.body).toMatchObject({ tools: [{ server_url: other.server_url }] })
    const refused = openai().responses.create({ model: "twin-openai", input: "Hi", tools: [other] })
    await expect(refused).rejects.toThrow("400 tools.0.type: is mcp")
  })
})

describe("sockets", () => {
  it("have the same rounds", async () => {
    answerBy(gateway().vendor, cities)
    const socket = await openSocket(`${gateway().baseUrl}/openai/v1/responses`, { authorization: `Bearer ${apiKey()}` })
    const input = [{ type: "message", role: "user", content: "Weather?" }]
    socket.send({ type: "response.create", model: "twin-openai", input, tools: [mcp()] })
    const { type, response } = await socket.until(({ type }) => type === "response.completed" || type === "error")
    expect(type).toBe("response.completed")
    expect(JSON.stringify(response)).toContain(last)
    socket.ws.close()
  })
})

describe("a kept exchange with calls of tools", () => {
  it("goes on with its calls and results", async () => {
    answerBy(gateway().vendor, cities)
    const ask = async (more: object) => {
      const thread = [{ role: "user", blocks: [{ t: "text", v: "Weather?" }] }]
      const tools = [{ kind: "mcp", server: "weather" }]
      const body = { model: "twin-openai", thread, tools, keep: true, ...more }
      return replyOf(await gateway().call("POST", "/t1/exchange", body))
    }
    const first = await ask({})
    answerBy(gateway().vendor, counting)
    expect((await ask({ after: first.requestId })).blocks).toMatchObject([{ v: "after 2 calls" }])
  })
})
