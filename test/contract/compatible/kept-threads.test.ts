/** Kept threads that go from one vendor to another: strict twins refuse what another vendor has sealed. */
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import type { TwinScript } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { answerBy, onTwins, twinModels } from "./twin-vendors.ts"
import { vendorBodyOf } from "./vendors.ts"

const gateway = useGateway(() => {
  const options = onTwins()
  return {
    ...options,
    catalogue: (urls) =>
      (options.catalogue?.(urls) ?? "").replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
  }
})

const client = () =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    maxRetries: 0,
  })

const thinking: TwinScript = ({ calls }) => {
  if (calls === 0) {
    const call = { t: "call", id: "call_1", name: "weather", args: JSON.stringify({ city: "Oslo" }) } as const
    return { blocks: [{ t: "reasoning", pieces: ["I must ", "look."] }, { t: "text", pieces: ["Let me look."] }, call] }
  }
  return {
    blocks: [
      { t: "reasoning", pieces: ["It is cold."] },
      { t: "text", pieces: ["Cold", " in Oslo."] },
    ],
  }
}

const tools: Array<OpenAI.Responses.Tool> = [
  {
    type: "function",
    name: "weather",
    strict: true,
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
  },
]

const pairs = twinModels.flatMap((from) => twinModels.map((to) => [from, to] as const))

describe("a kept thread", () => {
  it.each(pairs)("of %s goes on at %s, and back", async (from, to) => {
    answerBy(gateway().vendor, thinking)
    const asked = { tools, reasoning: { effort: "high" as const }, max_output_tokens: 4000 }
    const first = await client().responses.create({ ...asked, model: `twin-${from}`, input: "Weather in Oslo?" })
    const output = first.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "-3 degrees" }]
        : [],
    )
    expect(output).toHaveLength(1)
    const second = await client()
      .responses.stream({ ...asked, model: `twin-${to}`, input: output, previous_response_id: first.id })
      .finalResponse()
    expect(second.output_text).toBe("Cold in Oslo.")
    const third = await client().responses.create({
      ...asked,
      model: `twin-${from}`,
      input: "Sure?",
      previous_response_id: second.id,
    })
    expect(third.output_text).toBe("Cold in Oslo.")
    expect(vendorBodyOf(gateway().vendor)).toMatch(/Weather in Oslo.*Let me look.*-3 degrees.*Cold in Oslo.*Sure/)
  })
})
