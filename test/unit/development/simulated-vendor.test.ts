/** The development gateway's vendor, as clients of other APIs meet it: it calls a tool that it is asked for. */
import { Effect, Exit, Scope } from "effect"
import OpenAI from "openai"
import { afterAll, beforeAll, expect, it } from "vitest"
import { startSimulatedVendor } from "../../../src/development/simulated-vendor.ts"

const scope = Scope.makeUnsafe()
let client: OpenAI
beforeAll(async () => {
  const { url } = await Effect.runPromise(Scope.provide(startSimulatedVendor(), scope))
  client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" })
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const tools: ReadonlyArray<OpenAI.ChatCompletionTool> = [
  { type: "function", function: { name: "other", parameters: { type: "object", properties: {} } } },
  {
    type: "function",
    function: {
      name: "weather",
      parameters: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" }, unit: { enum: ["C", "F"] } },
        required: ["city", "days", "unit"],
      },
    },
  },
]

const talk = async (messages: Array<OpenAI.ChatCompletionMessageParam>) => {
  const { choices } = await client.chat.completions.create({ model: "simulated-1", messages, tools: [...tools] })
  return choices[0]?.message ?? { content: null, tool_calls: [] }
}

const ask = (content: string, choice?: OpenAI.ChatCompletionToolChoiceOption) =>
  client.chat.completions
    .stream({
      model: "simulated-1",
      messages: [{ role: "user", content }],
      tools: [...tools],
      ...(choice !== undefined && { tool_choice: choice }),
    })
    .finalChatCompletion()

it("calls the tool that a message names, with examples of its required arguments", async () => {
  const { choices } = await ask("Please use weather for Oslo")
  const [call] = choices[0]?.message.tool_calls ?? []
  expect(choices[0]?.finish_reason).toBe("tool_calls")
  expect(call).toMatchObject({ function: { name: "weather", arguments: '{"city":"example","days":1,"unit":"C"}' } })
})

it("calls it with the arguments that follow its name", async () => {
  const { choices } = await ask('Not the other; use weather {"city": "Oslo", "at": {"h": 1}} and tell me }')
  expect(choices[0]?.message.tool_calls).toMatchObject([
    { function: { name: "weather", arguments: '{"city":"Oslo","at":{"h":1}}' } },
  ])
})

it("answers to a whole turn: instructions after a question do not hide it, and results are told", async () => {
  const system = { role: "system", content: "Tools: other" } as const
  const question = { role: "user", content: "Use weather" } as const
  const first = await talk([question, system])
  const [call] = first.tool_calls ?? []
  expect(call).toMatchObject({ function: { name: "weather" } })
  const result = { role: "tool", tool_call_id: call?.id ?? "", content: "Use weather: 7 degrees" } as const
  expect(
    (await talk([question, { role: "assistant", tool_calls: [...(first.tool_calls ?? [])] }, result, system])).content,
  ).toBe("You said: Use weather: 7 degrees")
})

it("calls a tool that is demanded, and none otherwise", async () => {
  const demanded = await ask("Hello", { type: "function", function: { name: "weather" } })
  expect(demanded.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { name: "weather" } })
  expect((await ask("Hello", "required")).choices[0]?.message.tool_calls).toHaveLength(1)
  expect((await ask("Hello")).choices[0]?.message.content).toBe("You said: Hello")
  expect((await ask("Use weather", "none")).choices[0]?.message.content).toBe("You said: Use weather")
})

it("refuses what vendors refuse, and gives calls of a thread ids of their own", async () => {
  const refusal = await client.chat.completions.create({ model: "simulated-1", messages: [] }).catch((error) => error)
  expect(refusal).toMatchObject({ status: 400, param: "messages" })
  const question = { role: "user", content: "Use weather" } as const
  const [call] = (await talk([question])).tool_calls ?? []
  const result = { role: "tool", tool_call_id: call?.id ?? "", content: "7 degrees" } as const
  const called = { role: "assistant", tool_calls: call === undefined ? [] : [call] } as const
  const said = { role: "assistant", content: "It is warm." } as const
  const thread = [question, { ...called, tool_calls: [...called.tool_calls] }, result, said, question]
  expect(call?.id).toBe("call_weather")
  expect((await talk(thread)).tool_calls).toMatchObject([{ id: "call_weather_1" }])
})
