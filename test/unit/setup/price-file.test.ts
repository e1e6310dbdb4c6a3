/** LiteLLM's price file: exact decimals, what carries over, and what it changes in a catalogue. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { formatAmount } from "../../../src/money/amount.ts"
import { entryLine } from "../../../src/setup/catalogue-text.ts"
import { parseMarkup } from "../../../src/setup/markup.ts"
import { priceEntry, readPriceFile } from "../../../src/setup/price-file.ts"
import { findPriced, importPrices } from "../../../src/setup/price-import.ts"

// Entries of litellm 1.109.1, as they stand there.
const excerpt = readFileSync(new URL("../../support/model_prices.json", import.meta.url), "utf8")
const file = Result.getOrThrow(readPriceFile(excerpt))
const priceOf = (name: string) => {
  const price = file.models.find((model) => model.name === name)?.price
  return price && priceEntry(name, price, 0n, "2026-01-01")
}
/** The price of an entry with this input price, as it is written in the text. */
const inputOf = (source: string) => {
  const text = `{"m": {"mode": "chat", "input_cost_per_token": ${source}, "output_cost_per_token": 0}}`
  const { models, refused } = Result.getOrThrow(readPriceFile(text))
  const price = models[0]?.price.input
  return price === undefined ? [...refused.keys()][0] : formatAmount(price)
}

describe("a price file", () => {
  it("has prices per million tokens, with every dimension that ours have", () => {
    expect(priceOf("claude-sonnet-4-5")).toEqual({
      model: "claude-sonnet-4-5",
      currency: "USD",
      input: "3",
      output: "15",
      cacheRead: "0.3",
      cacheWrite: "3.75",
      cacheWrite1h: "6",
      dims: { web_search: "10000" },
      from: "2026-01-01",
    })
    expect(priceOf("gpt-4o-audio-preview-2024-12-17")).toMatchObject({
      input: "2.5",
      dims: { audio_in: "40", audio_out: "80" },
    })
  })

  it("has limits and capabilities", () => {
    expect(findPriced(file, "openai", "gpt-5")).toMatchObject({
      contextWindow: 272_000,
      maxOutput: 128_000,
      capabilities: ["tools", "images", "files", "reasoning", "cache"],
      deprecatedAt: "2026-12-11",
    })
  })

  it("has a price of what each kind is billed by", () => {
    const priced = (provider: string, model: string) => {
      const found = findPriced(file, provider, model)
      return found && [found.kind, priceEntry(model, found.price, 0n, "2026-01-01")]
    }
    expect(priced("openai", "text-embedding-3-small")).toEqual([
      "embedding",
      { model: "text-embedding-3-small", currency: "USD", input: "0.02", from: "2026-01-01" },
    ])
    expect(priced("cohere", "rerank-v3.5")).toEqual([
      "rerank",
      { model: "rerank-v3.5", currency: "USD", dims: { searches: "2000" }, from: "2026-01-01" },
    ])
    expect(priced("openai", "omni-moderation-latest")).toMatchObject(["moderation", { input: "0" }])
  })

  it("has prices of pictures, sound and video in units, or in tokens where the model has these", () => {
    const entries = {
      "gpt-image-1": {
        mode: "image_generation",
        input_cost_per_image: 0.042,
        input_cost_per_token: 5e-6,
        input_cost_per_image_token: 1e-5,
        output_cost_per_image_token: 4e-5,
      },
      "imagen-4": { mode: "image_generation", output_cost_per_image: 0.04 },
      "tts-1": { mode: "audio_speech", input_cost_per_character: 1.5e-5 },
      "gpt-4o-mini-tts": { mode: "audio_speech", input_cost_per_token: 2.5e-6, output_cost_per_audio_token: 1.2e-5 },
      "whisper-1": { mode: "audio_transcription", input_cost_per_second: 0.0001, output_cost_per_second: 0.0001 },
      "gpt-4o-transcribe": {
        mode: "audio_transcription",
        input_cost_per_audio_token: 6e-6,
        input_cost_per_token: 2.5e-6,
        output_cost_per_token: 1e-5,
      },
      "sora-2": { mode: "video_generation", output_cost_per_video_per_second: 0.1 },
      "dall-e-2": { mode: "image_generation", input_cost_per_pixel: 1e-8 },
    }
    const all = Object.fromEntries(
      Object.entries(entries).map(([name, entry]) => [name, { litellm_provider: "openai", ...entry }]),
    )
    const read = Result.getOrThrow(readPriceFile(JSON.stringify(all)))
    const priceOf = ({ name, kind, price }: (typeof read.models)[number]) => {
      const { input, output, dims } = priceEntry(name, price, 0n, "2026-01-01")
      return [name, kind, input, output, dims]
    }
    expect(read.models.map(priceOf)).toEqual([
      ["gpt-image-1", "image", "5", "40", { image_in: "10" }],
      ["imagen-4", "image", undefined, undefined, { images: "40000" }],
      ["tts-1", "speech", undefined, undefined, { characters: "15" }],
      ["gpt-4o-mini-tts", "speech", "2.5", undefined, { audio_out: "12" }],
      ["whisper-1", "transcription", undefined, undefined, { audio_seconds: "100" }],
      ["gpt-4o-transcribe", "transcription", "2.5", "10", { audio_in: "6" }],
      ["sora-2", "video", undefined, undefined, { video_seconds: "100000" }],
    ])
    expect(read.refused.get("no price")).toEqual(["dall-e-2"])
  })

  describe("prices by the length of the input", () => {
    const read = (fields: object) => {
      const text = JSON.stringify({ m: { mode: "chat", ...fields } })
      const [model] = Result.getOrThrow(readPriceFile(text)).models
      return model && { ...priceEntry("m", model.price, 0n, "2026-01-01"), left: model.left }
    }
    const base = { input_cost_per_token: 3e-6, output_cost_per_token: 15e-6 }

    it("are those above the file's thresholds", () => {
      expect(priceOf("gemini/gemini-2.5-pro")).toMatchObject({
        input: "1.25",
        output: "10",
        cacheRead: "0.125",
        above: [{ tokens: 200_000, input: "2.5", output: "15", cacheRead: "0.25" }],
      })
    })

    it.each([
      [
        "several thresholds rise, whatever their order",
        {
          input_cost_per_token_above_272k_tokens: 9e-6,
          input_cost_per_token_above_128k_tokens: 6e-6,
          output_cost_per_token_above_128k_tokens: 20e-6,
        },
        {
          above: [
            { tokens: 128_000, input: "6", output: "20" },
            { tokens: 272_000, input: "9" },
          ],
        },
      ],
      [
        "caches written for an hour have their own",
        {
          cache_creation_input_token_cost: 3.75e-6,
          cache_creation_input_token_cost_above_1hr: 6e-6,
          cache_creation_input_token_cost_above_200k_tokens: 7.5e-6,
          cache_creation_input_token_cost_above_1hr_above_200k_tokens: 12e-6,
        },
        { cacheWrite1h: "6", above: [{ tokens: 200_000, cacheWrite: "7.5", cacheWrite1h: "12" }] },
      ],
      [
        "a price that the file states only above is the usual one below",
        { input_cost_per_token_above_200k_tokens: 6e-6, cache_creation_input_token_cost_above_200k_tokens: 5e-6 },
        { cacheWrite: "3", above: [{ tokens: 200_000, input: "6", cacheWrite: "5" }] },
      ],
      [
        "reasoning that costs what output costs follows it",
        { output_cost_per_reasoning_token: 15e-6, output_cost_per_token_above_200k_tokens: 20e-6 },
        { dims: { reasoning: "15" }, above: [{ tokens: 200_000, output: "20", dims: { reasoning: "20" } }] },
      ],
      [
        "xAI bills the higher price from the threshold on",
        { litellm_provider: "xai", input_cost_per_token_above_128k_tokens: 6e-6 },
        { above: [{ tokens: 127_999, input: "6" }] },
      ],
      [
        "prices of batches, of tiers and without a number are none",
        {
          input_cost_per_token_above_200k_tokens: null,
          input_cost_per_token_above_200k_tokens_batches: 6e-6,
          input_cost_per_token_above_200k_tokens_priority: 12e-6,
        },
        { input: "3", left: [] },
      ],
      [
        "media have none",
        { input_cost_per_image_above_128k_tokens: 0.01 },
        { left: ["prices above 128k tokens of media"] },
      ],
    ])("%s", (_what, fields, expected) => {
      const { above, ...others } = read({ ...base, ...fields }) ?? {}
      expect({ ...others, above }).toMatchObject({ above: undefined, ...expected })
    })

    it("are read from ranges", () => {
      const tiered_pricing = [
        { range: [0, 32_000.0], input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
        { range: [32_000.0, 128_000], input_cost_per_token: 3e-6, output_cost_per_token: 4e-6 },
        { range: [128_000, 256_000], input_cost_per_token: 5e-6, output_cost_per_token: 6e-6 },
      ]
      expect(read({ tiered_pricing })).toMatchObject({
        input: "1",
        output: "2",
        above: [
          { tokens: 32_000, input: "3", output: "4" },
          { tokens: 128_000, input: "5", output: "6" },
        ],
        left: [],
      })
      const others = { ...base, tiered_pricing: tiered_pricing.toReversed() }
      expect(read(others)).toMatchObject({ input: "3", left: ["prices by the length of the prompt"] })
    })

    it("are marked up as the others, and are a catalogue's", () => {
      const [model] = file.models.filter(({ name }) => name === "gemini/gemini-2.5-pro")
      if (model === undefined) throw new Error("no model")
      const entry = priceEntry("m", model.price, parseMarkup("10%") ?? -1n, "2026-01-01")
      expect(entry.above).toEqual([{ tokens: 200_000, input: "2.75", output: "16.5", cacheRead: "0.275" }])
      const text = `version: 1
vendors: [{ id: g, dialect: gemini, baseUrl: "https://g.example" }]
models: [{ handle: m, targets: [{ vendor: g, model: gemini-2.5-pro }] }]
prices:
  ${entryLine(entry)}
`
      const { document } = Result.getOrThrow(loadCatalogue(text))
      const terms = { vendor: "g", provider: "gemini", markup: 1000n, from: "2026-11-23", firstFrom: "2026-11-22" }
      expect(importPrices(document, file, terms)).toMatchObject({ changes: [], same: ["m"] })
    })
  })

  describe("prices of service tiers", () => {
    const read = (fields: object) => {
      const base = { mode: "chat", input_cost_per_token: 3e-6, output_cost_per_token: 15e-6 }
      const [model] = Result.getOrThrow(readPriceFile(JSON.stringify({ m: { ...base, ...fields } }))).models
      return model && { ...priceEntry("m", model.price, 0n, "2026-01-01"), left: model.left }
    }

    it.each([
      ["gpt-5", { priority: "2", flex: "0.5" }],
      ["gemini/gemini-2.5-pro", { priority: "1.8", flex: "0.5" }],
    ])("are factors of those of %s", (name, tiers) => {
      const price = priceOf(name)
      expect(price?.tiers).toMatchObject(tiers)
      expect(price?.above?.map((step) => step.tiers) ?? []).toEqual(price?.above?.map(() => undefined) ?? [])
    })

    it("have a factor of their own above a threshold", () => {
      const fields = {
        input_cost_per_token_priority: 6e-6,
        input_cost_per_token_above_200k_tokens: 6e-6,
        input_cost_per_token_above_200k_tokens_priority: 9e-6,
      }
      expect(read(fields)).toMatchObject({
        tiers: { priority: "2" },
        above: [{ tokens: 200_000, input: "6", tiers: { priority: "1.5" } }],
        left: [],
      })
    })

    it("are the dearest where they have several factors, rounded up", () => {
      const fields = { input_cost_per_token_flex: 1e-6, output_cost_per_token_flex: 10e-6 }
      expect(read(fields)).toMatchObject({
        tiers: { flex: "0.6666666667" },
        left: ["prices of the tier flex that are no multiple by its factor"],
      })
    })

    it.each([0, null, -1e-6, 1])("of %j are none", (price) => {
      expect(read({ input_cost_per_token_flex: price })?.tiers).toBeUndefined()
    })
  })

  it("tells what does not carry over", () => {
    expect(findPriced(file, "gemini", "gemini-2.5-pro")?.left).toEqual([
      "searches that are free",
      "prices of the tier flex that are no multiple by its factor",
    ])
    expect(file.refused.get("mode chat_container")).toEqual(["openai/container"])
    expect(file.models.map(({ name }) => name)).not.toContain("sample_spec")
  })

  it.each([
    ["2.5e-06", "2.5"],
    ["0.0000000001", "0.0001"],
    ["1e-16", "0.0000000001"],
    ["1E+0", "1000000"],
    ['"3e-06"', "3"],
    ["1e-17", "input_cost_per_token: more than ten decimals per million tokens"],
    ["1.2999999999999998e-06", "1.2999999999999998e-06"],
    ["1e999", "a price is negative, or above 1,000,000 per million"],
    ["1e9999", "input_cost_per_token: more than ten decimals per million tokens"],
    ["2", "a price is negative, or above 1,000,000 per million"],
    ["-1e-06", "a price is negative, or above 1,000,000 per million"],
    ["null", "no price per token"],
    ["true", "no price per token"],
    ['"much"', "input_cost_per_token: more than ten decimals per million tokens"],
  ])("reads %s exactly, or says why not", (source, told) => {
    const exact = told === source ? "input_cost_per_token: more than ten decimals per million tokens" : told
    expect(inputOf(source)).toBe(exact)
  })

  it.prop(
    "reads every decimal as it is written, however it is written",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 52 })),
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 })),
    ],
    ([units, shift]) => {
      // Units of 10^-16 a token are units of 10^-10 a million.
      const source = `${units}${"0".repeat(shift)}e-${16 + shift}`
      expect(inputOf(source)).toBe(formatAmount(BigInt(units)))
    },
  )

  it.each(["", "[]", "null", "{", '"text"', "\u0000"])("is refused if it is none: %j", (text) => {
    expect(Result.isFailure(readPriceFile(text))).toBe(true)
  })

  it("reads hostile entries one by one", () => {
    const hostile = `{"__proto__": {"mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
      "a": null, "b": [], "c": 1, "d": {"mode": 7}, "e": {"mode": "chat", "input_cost_per_token": {}},
      "f": {"mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06, "max_input_tokens": 1e99,
        "search_context_cost_per_query": [1], "supports_vision": "yes"}}`
    const { models } = Result.getOrThrow(readPriceFile(hostile))
    expect(models.map(({ name }) => name)).toEqual(["__proto__", "f"])
    expect(models[1]).toMatchObject({ contextWindow: undefined, capabilities: [] })
  })
})

describe("a markup", () => {
  it.each([
    ["10%", "3.3"],
    ["2.5%", "3.075"],
    ["0%", "3"],
  ])("%s is added exactly", (markup, charged) => {
    const price = { input: 30_000_000_000n, output: 0n, dims: {} }
    expect(priceEntry("m", price, parseMarkup(markup) ?? -1n, "2026-01-01").input).toBe(charged)
  })

  it("is rounded up to the last decimal", () => {
    expect(priceEntry("m", { input: 1n, output: 0n, dims: {} }, 1n, "2026-01-01").input).toBe("0.0000000002")
  })

  it.each(["10", "-1%", "1e1%", "10.123%", "99999%", "%", ""])("%j is none", (text) => {
    expect(parseMarkup(text)).toBeUndefined()
  })
})

describe("an import", () => {
  const { document } = Result.getOrThrow(
    loadCatalogue(`version: 1
vendors:
  - { id: oa, dialect: openai-chat, baseUrl: "https://api.openai.com/v1" }
  - { id: an, dialect: anthropic, baseUrl: "https://api.anthropic.com" }
models:
  - { handle: new, targets: [{ vendor: oa, model: gpt-5 }] }
  - { handle: same, targets: [{ vendor: oa, model: gpt-4o }] }
  - { handle: later, targets: [{ vendor: oa, model: gpt-5 }] }
  - { handle: dearer, targets: [{ vendor: oa, model: gpt-5 }] }
  - { handle: second, targets: [{ vendor: an, model: claude-sonnet-4-5, tier: 1 }, { vendor: oa, model: gpt-5, tier: 2 }] }
  - { handle: unheard, targets: [{ vendor: oa, model: gpt-99 }] }
prices:
  - { model: same, currency: USD, input: "1", output: "1", from: 2025-01-01 }
  - { model: same, currency: USD, input: "2.5", output: "10", cacheRead: "1.25", tiers: { priority: "1.7" }, from: 2026-01-01 }
  - { model: later, currency: USD, input: "9", output: "9", from: 2026-12-01 }
  - { model: dearer, currency: USD, input: "1", output: "1", from: 2026-01-01 }
`),
  )
  const terms = { vendor: "oa", provider: "openai", markup: 0n, from: "2026-11-23", firstFrom: "2026-11-22" }

  it("adds what differs, from its date on, and leaves alone what is in force", () => {
    const { changes, ...left } = importPrices(document, file, terms)
    expect(left).toEqual({ same: ["same"], later: ["later"], secondary: ["second"], unknown: ["unheard"] })
    expect(changes.map(({ entry, before }) => [entry.model, entry.input, entry.from, before?.input])).toEqual([
      ["new", "1.25", "2026-11-22", undefined],
      ["dearer", "1.25", "2026-11-23", "1"],
    ])
  })

  it("keeps what the file does not say, and tells it", () => {
    const inForce = `{ model: m, currency: USD, input: "1", output: "1", cacheRead: "0.1", cacheWrite: "2", dims: { reasoning: "3" },
      tiers: { batch: "0.5", flex: "9" }, above: [{ tokens: 272000, input: "2" }], cachedReply: "0.1", batch: "0.5", from: 2026-01-01 }`
    const catalogue = `version: 1
vendors: [{ id: oa, dialect: openai-chat, baseUrl: "https://api.openai.com/v1" }]
models: [{ handle: m, targets: [{ vendor: oa, model: gpt-5 }] }]
prices:
  - ${inForce}
`
    const { document } = Result.getOrThrow(loadCatalogue(catalogue))
    const [change] = importPrices(document, file, terms).changes
    expect(change?.entry).toMatchObject({
      input: "1.25",
      cacheRead: "0.125",
      cacheWrite: "2",
      dims: { reasoning: "3" },
      tiers: { batch: "0.5", flex: "0.5", priority: "2" },
      above: [{ tokens: 272_000, input: "2" }],
      cachedReply: "0.1",
      batch: "0.5",
    })
    expect(change?.kept.toSorted()).toEqual([
      "above",
      "batch",
      "cacheWrite",
      "cachedReply",
      "dims.reasoning",
      "tiers.batch",
    ])
    const next = `${catalogue}  ${entryLine(change?.entry ?? {})}\n`
    const again = importPrices(Result.getOrThrow(loadCatalogue(next)).document, file, { ...terms, from: "2027-01-01" })
    expect(again).toMatchObject({ changes: [], same: ["m"] })
  })

  it("keeps sizes of the unit by which pictures are billed, and nothing of another", () => {
    const priced = { imagen: { mode: "image_generation", litellm_provider: "openai", output_cost_per_image: 0.04 } }
    const { document } = Result.getOrThrow(
      loadCatalogue(`version: 1
vendors: [{ id: oa, dialect: openai-chat, baseUrl: "https://api.openai.com/v1" }]
models: [{ handle: m, kind: image, targets: [{ vendor: oa, model: imagen }] }]
prices:
  - { model: m, currency: USD, input: "5", output: "40", dims: { image_in: "10", "images:1024x1024": "9" }, from: 2026-01-01 }
`),
    )
    const imported = importPrices(document, Result.getOrThrow(readPriceFile(JSON.stringify(priced))), terms)
    expect(imported.changes[0]?.entry).toEqual({
      model: "m",
      currency: "USD",
      dims: { images: "40000", "images:1024x1024": "9" },
      from: "2026-11-23",
    })
  })
})
