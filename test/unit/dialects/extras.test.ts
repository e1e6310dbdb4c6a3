/** Optional parameters in the format of each vendor: those that are sent, and those that are refused by name. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { extraExamples } from "../../../scripts/docs/pairs.ts"
import { chatPlaces } from "../../../scripts/docs/parameter-table.ts"
import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import { dialectOf } from "../../../src/dialects/index.ts"
import { parseObject } from "../../../src/dialects/parse/json.ts"
import type { Vendor } from "../../../src/protocol/catalogue/vendor.ts"
import { type ExtraName, extraNames } from "../../../src/protocol/extra-params.ts"

const request = (model: string): VendorRequest => ({
  model,
  thread: [{ role: "user", blocks: [{ t: "text", v: "Hello" }] }],
  tools: [],
  maxTokens: 10,
  stop: [],
  canReason: true,
  cache: { enabled: false, skipWrite: true },
  stream: false,
})
const google = { project: "p", location: "l" }
const encoded = (place: Pick<Vendor, "dialect" | "profile">, model: string, more: Partial<VendorRequest>) => {
  const { chat } = dialectOf({ ...place, ...(place.profile === "vertex" && { google }) })
  return chat?.encode({ ...request(model), ...more })
}
const bodyOf = (place: Pick<Vendor, "dialect" | "profile">, model: string, name: ExtraName) => {
  const wire = encoded(place, model, { extras: { [name]: extraExamples[name] } })
  return wire !== undefined && Result.isSuccess(wire) ? parseObject(wire.success.body) : undefined
}

const sent: ReadonlyArray<readonly [Vendor["dialect"], Vendor["profile"], string, Partial<Record<ExtraName, object>>]> =
  [
    [
      "openai-chat",
      "openai",
      "upstream",
      {
        seed: { seed: 7 },
        frequencyPenalty: { frequency_penalty: 0.5 },
        presencePenalty: { presence_penalty: 0.5 },
        logprobs: { logprobs: true, top_logprobs: 3 },
        logitBias: { logit_bias: { "50256": -100 } },
        verbosity: { verbosity: "low" },
        serviceTier: { service_tier: "priority" },
        prediction: { prediction: { type: "content", content: "Hello" } },
        n: { n: 3 },
      },
    ],
    [
      "openai-chat",
      "mistral",
      "m",
      { seed: { random_seed: 7 }, n: { n: 3 }, prediction: {}, frequencyPenalty: {}, presencePenalty: {} },
    ],
    [
      "openai-chat",
      "together",
      "m",
      {
        seed: {},
        frequencyPenalty: {},
        presencePenalty: {},
        topK: { top_k: 40 },
        minP: { min_p: 0.1 },
        logitBias: {},
        n: {},
        logprobs: { logprobs: 3 },
      },
    ],
    [
      "openai-responses",
      undefined,
      "upstream",
      {
        logprobs: { top_logprobs: 3, include: ["reasoning.encrypted_content", "message.output_text.logprobs"] },
        verbosity: { text: { verbosity: "low" } },
        serviceTier: { service_tier: "priority" },
      },
    ],
    ["anthropic", undefined, "claude-sonnet-4-5", { topK: { top_k: 40 }, serviceTier: { service_tier: "auto" } }],
    ["anthropic", "bedrock", "anthropic.claude-sonnet-4-5", { topK: { top_k: 40 }, serviceTier: {} }],
    ["anthropic", "vertex", "claude-sonnet-4-5", { topK: { top_k: 40 }, serviceTier: {} }],
    [
      "gemini",
      undefined,
      "gemini-3-pro",
      {
        seed: { generationConfig: { seed: 7 } },
        frequencyPenalty: { generationConfig: { frequencyPenalty: 0.5 } },
        presencePenalty: { generationConfig: { presencePenalty: 0.5 } },
        topK: { generationConfig: { topK: 40 } },
        logprobs: { generationConfig: { responseLogprobs: true, logprobs: 3 } },
        serviceTier: { serviceTier: "priority" },
        n: { generationConfig: { candidateCount: 3 } },
      },
    ],
    [
      "bedrock",
      undefined,
      "anthropic.claude-sonnet-4-5-20250929-v1:0",
      { topK: { additionalModelRequestFields: { top_k: 40 } }, serviceTier: { serviceTier: { type: "priority" } } },
    ],
    [
      "bedrock",
      undefined,
      "amazon.nova-2-lite-v1:0",
      { topK: { additionalModelRequestFields: { inferenceConfig: { topK: 40 } } }, serviceTier: {} },
    ],
    [
      "cohere",
      undefined,
      "command-a",
      {
        seed: { seed: 7 },
        frequencyPenalty: { frequency_penalty: 0.5 },
        presencePenalty: { presence_penalty: 0.5 },
        topK: { k: 40 },
      },
    ],
  ]

describe.each(sent)("%s %s (%s)", (dialect, profile, model, words) => {
  const place = { dialect, ...(profile !== undefined && { profile }) }
  it.each(extraNames)("%s", (name) => {
    const expected = words[name]
    const body = bodyOf(place, model, name)
    if (expected === undefined) {
      expect(body).toBeUndefined()
      expect(encoded(place, model, { extras: { [name]: extraExamples[name] } })).toMatchObject({
        failure: { capability: name },
      })
    } else expect(body).toMatchObject(expected)
  })

  it("values that change nothing are not sent", () => {
    const neutral = {
      frequencyPenalty: 0,
      presencePenalty: 0,
      minP: 0,
      n: 1,
      verbosity: "medium",
      logitBias: {},
      stopTokens: [],
    } as const
    expect(encoded(place, model, { extras: neutral })).toEqual(encoded(place, model, {}))
  })
})

it("a model that thinks takes no sampling parameters: they change nothing", () => {
  const thinking = { maxTokens: 4000, reasoning: "high", extras: { topK: 40 } } as const
  const wire = encoded({ dialect: "anthropic" }, "claude-sonnet-4-5", thinking)
  expect(wire !== undefined && Result.isSuccess(wire) && wire.success.body).not.toContain("top_k")
})

it.each(chatPlaces)("content that Gemini keeps is no prompt at $dialect $profile", (place) => {
  const wire = encoded(place, "m", { extras: { vendorOptions: { gemini: { cachedContent: "cachedContents/1" } } } })
  expect(wire !== undefined && Result.isSuccess(wire)).toBe(place.dialect === "gemini")
})
