/** Helpers of vendors' SDKs that run tools, unchanged, with vendors of each API: strict twins refuse none of their steps. */
import Anthropic from "@anthropic-ai/sdk"
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema"
import { type CallableTool, GoogleGenAI, Type } from "@google/genai"
import OpenAI from "openai"
import { ResponsesToolRunner } from "openai/helpers/responses-tool-runner"
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod"
import type { RunnableToolFunctionWithParse } from "openai/lib/RunnableFunction"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { repeating } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { answerBy, lastWords, onTwins, threeSteps, twinModels } from "./twin-vendors.ts"
import { vendorBodyOf } from "./vendors.ts"

const gateway = useGateway(onTwins)
const apiKey = () => `${gateway().keyId}~${gateway().key}`
const openai = () => new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey(), maxRetries: 0 })
const anthropic = () => new Anthropic({ baseURL: `${gateway().baseUrl}/anthropic`, apiKey: apiKey(), maxRetries: 0 })
const google = () => new GoogleGenAI({ apiKey: apiKey(), httpOptions: { baseUrl: `${gateway().baseUrl}/gemini` } })

const question = "Weather in Oslo, Rome and Bergen?"
const cities = ["Oslo", "Rome", "Bergen"]
const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const
const Place = z.object({ city: z.string() })
const sayPlace = () => answerBy(gateway().vendor, () => ({ blocks: [{ t: "text", pieces: ['{"city":', '"Oslo"}'] }] }))

describe.each(twinModels)("OpenAI's SDK, served by %s", (name) => {
  const model = `twin-${name}`

  it.each([false, true])("runTools goes through three steps (streamed: %s)", async (stream) => {
    answerBy(gateway().vendor, threeSteps)
    const asked: Array<string> = []
    const weather: RunnableToolFunctionWithParse<{ city: string }> = {
      type: "function",
      function: {
        name: "weather",
        description: "The weather of a city",
        parameters: { ...parameters, required: [...parameters.required] },
        parse: (text: string) => Place.parse(JSON.parse(text)),
        function: ({ city }: { city: string }) => {
          asked.push(city)
          return `12 degrees in ${city}`
        },
      },
    }
    const messages = [{ role: "user", content: question } as const]
    const { completions } = openai().chat
    const runner = stream
      ? completions.runTools({ model, messages, tools: [weather], stream })
      : completions.runTools({ model, messages, tools: [weather] })
    expect(await runner.finalContent()).toBe(lastWords)
    expect(asked).toEqual(cities)
  })

  it.each([false, true])("ResponsesToolRunner goes through three steps (streamed: %s)", async (stream) => {
    answerBy(gateway().vendor, threeSteps)
    const asked: Array<unknown> = []
    const runner = new ResponsesToolRunner({
      functions: [
        {
          tool: { type: "function", name: "weather", strict: true, parameters },
          execute: ({ city }) => {
            asked.push(city)
            return `12 degrees in ${city}`
          },
        },
      ],
    })
    expect((await runner.run(openai(), { model, input: question }, { stream })).output).toMatchObject([
      { type: "message", content: [{ text: lastWords }] },
    ])
    expect(asked).toEqual(cities)
  })

  it("parses an answer by a schema, whole and streamed, in both APIs", async () => {
    sayPlace()
    const messages = [{ role: "user", content: "Where? In JSON." } as const]
    const response_format = zodResponseFormat(Place, "place")
    const parsing = openai().chat.completions.parse({ model, messages, response_format })
    if (name === "deepseek") {
      // It has no structured output, which is said by the field's name.
      await expect(parsing).rejects.toMatchObject({ status: 400, param: "response_format.json_schema" })
      return
    }
    expect((await parsing).choices[0]?.message.parsed).toEqual({ city: "Oslo" })
    const streamed = await openai().chat.completions.stream({ model, messages, response_format }).finalChatCompletion()
    expect(streamed.choices[0]?.message.parsed).toEqual({ city: "Oslo" })
    const text = { format: zodTextFormat(Place, "place") }
    const input = "Where? In JSON."
    expect((await openai().responses.parse({ model, input, text })).output_parsed).toEqual({ city: "Oslo" })
    const response = await openai().responses.stream({ model, input, text }).finalResponse()
    expect(response.output_parsed).toEqual({ city: "Oslo" })
  })

  it.each([false, true])("Responses calls a custom tool and takes its output back (streamed: %s)", async (stream) => {
    answerBy(gateway().vendor, repeating)
    const tools = [{ type: "custom", name: "patch", description: "Edits files" } as const]
    const patch = '*** Begin Patch\n+"2"\n*** End Patch'
    const input: Array<OpenAI.Responses.ResponseInputItem> = [
      { role: "user", content: `Call patch ${JSON.stringify({ input: patch })} now.` },
    ]
    const body = { model, input, tools, store: false }
    const reply = stream ? await openai().responses.stream(body).finalResponse() : await openai().responses.create(body)
    const [called] = reply.output.flatMap((item) => (item.type === "custom_tool_call" ? [item] : []))
    expect(called).toMatchObject({ name: "patch", input: patch })
    if (called === undefined) throw new Error("nothing was called")
    input.push(called, { type: "custom_tool_call_output", call_id: called.call_id, output: "Done!" })
    expect((await openai().responses.create(body)).output_text).toBe("You said: Done!")
  })
})

describe.each(twinModels)("Anthropic's SDK, served by %s", (name) => {
  const asked: Array<string> = []
  const weather = betaTool({
    name: "weather",
    description: "The weather of a city",
    inputSchema: parameters,
    run: ({ city }) => {
      asked.push(city)
      return `12 degrees in ${city}`
    },
  })
  const params = () => ({
    model: `twin-${name}`,
    max_tokens: 4000,
    messages: [{ role: "user" as const, content: question }],
    tools: [weather],
  })

  it.each([undefined, false] as const)("toolRunner goes through three steps (thread: %s)", async (thread) => {
    answerBy(gateway().vendor, threeSteps)
    asked.length = 0
    const settings = { ...params(), ...(thread !== undefined && { thread }) }
    const message = await anthropic().beta.messages.toolRunner(settings)
    expect(message.content).toMatchObject([{ type: "text", text: lastWords }])
    expect(asked).toEqual(cities)
  })

  it("toolRunner goes through them streamed", async () => {
    answerBy(gateway().vendor, threeSteps)
    asked.length = 0
    let text = ""
    for await (const stream of anthropic().beta.messages.toolRunner({ ...params(), stream: true })) {
      stream.on("text", (piece) => {
        text += piece
      })
      await stream.finalMessage()
    }
    expect(text).toBe(`Let me look. One more. ${lastWords}`)
    expect(asked).toEqual(cities)
  })
})

it("Anthropic's thread is refused in the words of its SDK", async () => {
  const thread = anthropic().beta.messages.thread({ model: "twin-claude", max_tokens: 100 })
  await expect(thread.send({ role: "user", content: "Hi" })).rejects.toThrow(Anthropic.ThreadUnsupportedRequestError)
})

describe.each(twinModels)("Google's SDK, served by %s", (name) => {
  const asked: Array<unknown> = []
  const weather: CallableTool = {
    tool: () =>
      Promise.resolve({
        functionDeclarations: [
          {
            name: "weather",
            description: "The weather of a city",
            parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
          },
        ],
      }),
    callTool: (calls) => {
      asked.push(...calls.map(({ args }) => args?.["city"]))
      return Promise.resolve(
        calls.map(({ id, name: called, args }) => ({
          functionResponse: {
            ...(id !== undefined && { id }),
            ...(called !== undefined && { name: called }),
            response: { output: `12 degrees in ${args?.["city"]}` },
          },
        })),
      )
    },
  }
  const params = { model: `twin-${name}`, contents: question, config: { tools: [weather] } }

  it("calls functions by itself through three steps", async () => {
    answerBy(gateway().vendor, threeSteps)
    asked.length = 0
    expect((await google().models.generateContent(params)).text).toBe(lastWords)
    expect(asked).toEqual(cities)
  })

  it("calls them streamed", async () => {
    answerBy(gateway().vendor, threeSteps)
    asked.length = 0
    let text = ""
    for await (const chunk of await google().models.generateContentStream(params)) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) text += part.text ?? ""
    }
    expect(text).toBe(`Let me look. One more. ${lastWords}`)
    expect(asked).toEqual(cities)
    // The vendor signed the first call of each step: nothing is added.
    if (name === "gemini") expect(vendorBodyOf(gateway().vendor)).not.toContain("skip_thought_signature_validator")
  })
})
