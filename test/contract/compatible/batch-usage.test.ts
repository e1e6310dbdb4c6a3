/** The tokens of a batch in OpenAI's API: those of its answers, as their usage records have them. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { makeOpenaiBatches, repeating, serveBatches, type VendorCall } from "../../../src/testing/index.ts"
import { chatLine, useBatches } from "../../support/batches.ts"

const change = (text: string) =>
  text
    .replace(
      "models:\n",
      `models:
  - { handle: embed, kind: embedding, targets: [{ vendor: openai, model: text-embedding-3-small }] }
  - { handle: away, targets: [{ vendor: distant, model: distant-model }] }
`,
    )
    .replace(
      /( {2}- \{ id: openai, .*)\n/,
      (entry) => `${entry}${entry.replace("id: openai", "id: distant, batch: vendor")}`,
    )
    .replace(
      "prices:\n",
      `prices:
  - { model: embed, currency: USD, input: "0.02", from: 2026-01-01 }
  - { model: away, currency: USD, input: "1", output: "2", from: 2026-01-01 }
`,
    )
    .replace("models: [main,", "models: [embed, away, main,")
const { gateway, create, ended, openai } = useBatches(change)

/** An answer with tokens of each kind, or one without them. */
const answer = (call: VendorCall, usage: object | undefined) => {
  call.head(200, { "content-type": "application/json" })
  if (call.path.endsWith("/embeddings")) {
    const data = [{ object: "embedding", index: 0, embedding: [0.5, 0.25] }]
    return call.end(JSON.stringify({ object: "list", data, model: "m", usage: { prompt_tokens: 7, total_tokens: 7 } }))
  }
  const choices = [{ index: 0, message: { role: "assistant", content: "ok then" }, finish_reason: "stop" }]
  return call.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage }))
}
const counted = {
  prompt_tokens: 30,
  completion_tokens: 12,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 5 },
}
const usageOf = (input: number, cached: number, output: number, reasoning: number) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
})
/** The sum of the usage records of a batch. */
const recorded = async (id: string) => {
  const batch = id.replace("batch_", "")
  const rows = await Effect.runPromise(
    gateway().sql<Record<"input" | "cached" | "output" | "reasoning", number>>`
      select sum(in_tokens + cache_read_tokens + cache_write_tokens)::integer as input, sum(cache_read_tokens)::integer as cached,
        sum(out_tokens)::integer as output, coalesce(sum((dims->>'reasoning')::integer), 0)::integer as reasoning
      from usage_records where batch_id = ${batch}`,
  )
  const { input = 0, cached = 0, output = 0, reasoning = 0 } = rows[0] ?? {}
  return usageOf(input, cached, output, reasoning)
}

describe("the tokens of a batch", () => {
  it("are those of its answers, also while it runs", async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    gateway().vendor.script(async (call) => {
      if (JSON.stringify(call.body).includes("later")) await held
      return answer(call, counted)
    })
    const made = await create([chatLine("a"), chatLine("b"), chatLine("c", "later")])
    expect(made.usage).toEqual(usageOf(0, 0, 0, 0))
    await expect
      .poll(async () => (await openai().batches.retrieve(made.id)).usage, { timeout: 10_000 })
      .toEqual(usageOf(60, 40, 24, 10))
    release()
    const { usage } = await ended(made.id)
    expect(usage).toEqual(usageOf(90, 60, 36, 15))
    expect(await recorded(made.id)).toEqual(usage)
    const listed = await openai().batches.list({ limit: 1 })
    expect(listed.data[0]?.usage).toEqual(usage)
  })

  it.each([
    ["/v1/responses", { model: "main", input: "Hi", max_output_tokens: 50 }, usageOf(30, 20, 12, 5)],
    ["/v1/completions", { model: "main", prompt: "Hi", max_tokens: 50 }, usageOf(30, 20, 12, 5)],
    ["/v1/embeddings", { model: "embed", input: "Hi" }, usageOf(7, 0, 0, 0)],
  ] as const)("are those of %s", async (endpoint, body, expected) => {
    gateway().vendor.script((call) => answer(call, counted))
    const made = await create([{ custom_id: "a", method: "POST", url: endpoint, body }], { endpoint })
    const { usage } = await ended(made.id)
    expect(usage).toEqual(expected)
    expect(await recorded(made.id)).toEqual(usage)
  })

  it("are estimates where the vendor does not count them", async () => {
    gateway().vendor.script((call) => answer(call, undefined))
    const { id } = await create([chatLine("a"), chatLine("b")])
    const { usage } = await ended(id)
    expect(usage?.output_tokens).toBeGreaterThan(0)
    expect(await recorded(id)).toEqual(usage)
  })

  it("are counted once where the vendor runs it, and gives an answer twice", async () => {
    const twin = makeOpenaiBatches(repeating)
    twin.plan({ outcome: () => "twice" })
    gateway().vendor.script(serveBatches(twin, (call) => answer(call, counted)))
    const { id } = await create([chatLine("a", "Hi", { model: "away" }), chatLine("b", "Hello", { model: "away" })])
    const { usage, request_counts: counts } = await ended(id)
    expect(counts).toMatchObject({ completed: 2 })
    expect(usage?.input_tokens).toBeGreaterThan(0)
    expect(await recorded(id)).toEqual(usage)
  })

  it("have none of a batch that has failed", async () => {
    expect((await create(["{ no json"])).usage).toEqual(usageOf(0, 0, 0, 0))
  })
})
