/** Batches of OpenAI's API, by its SDK: each request is answered and billed once, from money that is held at the beginning. */
import { toFile } from "openai"
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/index.ts"
import { chatLine as line, useBatches } from "../../support/batches.ts"
import { balanceOf } from "../../support/gateway.ts"

const { gateway, openai, upload, create, ended, linesOf, books } = useBatches((text) =>
  text
    .replace(
      "models:\n",
      "models:\n  - { handle: embed, kind: embedding, targets: [{ vendor: openai, model: text-embedding-3-small }] }\n",
    )
    .replace("prices:\n", 'prices:\n  - { model: embed, currency: USD, input: "0.02", from: 2026-01-01 }\n')
    .replace('cacheRead: "0.3", from', 'cacheRead: "0.3", batch: "0.5", from')
    .replace("models: [main,", "models: [embed, main,")
    .replace('amount: "1000"', 'amount: "5"'),
)
const answer = answering({ words: ["ok"], inTokens: 10, outTokens: 2 })
const says = () =>
  gateway().vendor.script((call) => {
    if (!call.path.endsWith("/embeddings")) return answer(call)
    call.head(200, { "content-type": "application/json" })
    const data = [{ object: "embedding", index: 0, embedding: [0.5, 0.25] }]
    call.end(JSON.stringify({ object: "list", data, model: "m", usage: { prompt_tokens: 2, total_tokens: 2 } }))
  })

describe("OpenAI's batches", () => {
  it("answer each request, and have their results in a file", async () => {
    says()
    const before = await balanceOf(gateway())
    const made = await create([line("a"), line("b"), line("c", "Hello")], { metadata: { job: "one" } })
    expect(made).toMatchObject({
      object: "batch",
      endpoint: "/v1/chat/completions",
      errors: null,
      completion_window: "24h",
      model: "main",
      metadata: { job: "one" },
      request_counts: { total: 3 },
    })
    expect(made.id).toMatch(/^batch_[a-z2-7]{26}$/)
    const batch = await ended(made.id)
    expect(batch).toMatchObject({
      status: "completed",
      request_counts: { total: 3, completed: 3, failed: 0 },
      error_file_id: null,
    })
    const results = await linesOf(batch.output_file_id)
    expect(results.map(({ custom_id }) => custom_id).sort()).toEqual(["a", "b", "c"])
    for (const { response, error } of results) {
      expect(error).toBeNull()
      expect(response).toMatchObject({
        status_code: 200,
        body: { object: "chat.completion", choices: [{ message: { content: "ok" } }], usage: { prompt_tokens: 10 } },
      })
    }
    const { records, findings, left } = await books(made.id)
    expect(findings).toEqual([])
    // Half of ten tokens in at 3 and two out at 15 for a million.
    expect(records.map((record) => Number(record.cost))).toEqual([0.00003, 0.00003, 0.00003])
    expect(left).toBe(0)
    const cost = records.reduce((sum, record) => sum + Number(record.cost), 0)
    expect(Number(before - (await balanceOf(gateway()))) / 1e10).toBeCloseTo(cost, 10)
    const file = await openai().files.retrieve(batch.output_file_id ?? "")
    expect(file).toMatchObject({ purpose: "batch_output", filename: "output.jsonl" })
  })

  it("fail with all their faults before anything is asked", async () => {
    const made = await create([
      line("a"),
      "{ no json",
      { ...line("b"), method: "GET" },
      { ...line("c"), url: "/v1/embeddings" },
      { method: "POST", url: "/v1/chat/completions", body: {} },
      line("a"),
      line("d", "Hi", { model: "unknown" }),
      line("e", "Hi", { stream: true }),
      line("f", "Hi", { messages: "no" }),
    ])
    expect(made).toMatchObject({ status: "failed", request_counts: { total: 0 }, output_file_id: null })
    expect(made.failed_at).toBeTypeOf("number")
    expect(made.errors?.data?.map(({ code, line, param }) => [line, code, param])).toEqual([
      [2, "invalid_json_line", null],
      [3, "invalid_method", "method"],
      [4, "invalid_url", "url"],
      [5, "missing_required_parameter", "custom_id"],
      [6, "duplicate_custom_id", "custom_id"],
      [7, "model_not_found", "body.model"],
      [8, "streaming_unsupported", "body.stream"],
      [9, expect.any(String), "body.messages"],
    ])
    expect(await openai().batches.retrieve(made.id)).toEqual(made)
    expect((await books(made.id)).records).toEqual([])
  })

  it("fail without a file of their purpose, or requests", async () => {
    const unknown = await openai().batches.create({
      input_file_id: "file-none",
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
    })
    expect(unknown).toMatchObject({
      status: "failed",
      errors: { data: [{ code: "invalid_request", param: "file_id" }] },
    })
    const file = await toFile(Buffer.from(JSON.stringify(line("a"))), "lines.jsonl")
    const { id } = await openai().files.create({ file, purpose: "user_data" })
    const other = await openai().batches.create({
      input_file_id: id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
    })
    expect(other).toMatchObject({
      status: "failed",
      errors: {
        data: [{ code: "invalid_request", param: "file_id", message: expect.stringContaining("'user_data'") }],
      },
    })
    const empty = await create(["", " "])
    expect(empty).toMatchObject({ status: "failed", errors: { data: [{ code: "empty_batch" }] } })
  })

  it("refuse other endpoints, windows and metadata", async () => {
    const input_file_id = await upload([line("a")])
    const asked = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const
    const refused = (more: object) =>
      expect(openai().batches.create({ ...asked, ...more })).rejects.toMatchObject({ status: 400 })
    await refused({ endpoint: "/v1/files" })
    await refused({ completion_window: "1h" })
    await refused({ metadata: { tags: ["a"] } })
  })

  it("have requests that fail in a file of errors, and bill the others", async () => {
    let asked = 0
    gateway().vendor.script(async (call) => {
      if (asked++ === 0) {
        call.head(400, { "content-type": "application/json" })
        return call.end(JSON.stringify({ error: { message: "no", type: "invalid_request_error", code: "bad" } }))
      }
      return answering({ words: ["ok"], inTokens: 10, outTokens: 2 })(call)
    })
    const made = await create([line("a"), line("b"), line("c")])
    const batch = await ended(made.id)
    expect(batch).toMatchObject({ status: "completed", request_counts: { total: 3, completed: 2, failed: 1 } })
    expect(await linesOf(batch.output_file_id)).toHaveLength(2)
    const [failed] = await linesOf(batch.error_file_id)
    expect(failed).toMatchObject({ response: { status_code: 502, body: { error: { message: expect.any(String) } } } })
    const { records, findings, left } = await books(made.id)
    expect([records.length, findings, left]).toEqual([2, [], 0])
  })

  it("ask again when a vendor fails", async () => {
    let asked = 0
    gateway().vendor.script(async (call) => {
      if (asked++ < 2) {
        call.head(503, { "content-type": "application/json" })
        return call.end("{}")
      }
      return answering({ words: ["ok"], inTokens: 10, outTokens: 2 })(call)
    })
    const made = await create([line("a")])
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 1, failed: 0 } })
    expect((await books(made.id)).records).toHaveLength(1)
  })

  it("need money for all of it", async () => {
    const content = "long ".repeat(2000)
    const lines = Array.from({ length: 400 }, (_, at) => line(`n${at}`, content, { max_tokens: 2000 }))
    await expect(create(lines)).rejects.toMatchObject({ status: 402 })
    const { data } = await openai().files.list({ purpose: "batch" })
    expect(data.length).toBeGreaterThan(0)
  })

  it("are cancelled, and bill what was asked", async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    gateway().vendor.script(async (call) => {
      await held
      return answering({ words: ["ok"], inTokens: 10, outTokens: 2 })(call)
    })
    const made = await create(Array.from({ length: 40 }, (_, at) => line(`n${at}`)))
    await expect.poll(() => gateway().vendor.calls.length).toBeGreaterThan(0)
    const cancelled = await openai().batches.cancel(made.id)
    expect(cancelled.status).toBe("cancelling")
    expect((await openai().batches.cancel(made.id)).cancelling_at).toBe(cancelled.cancelling_at)
    release()
    const batch = await ended(made.id)
    expect(batch.status).toBe("cancelled")
    const [output, errors] = [await linesOf(batch.output_file_id), await linesOf(batch.error_file_id)]
    expect(output.length + errors.length).toBe(40)
    expect(output.length).toBeLessThan(40)
    expect(errors[0]).toMatchObject({ response: null, error: { code: "batch_cancelled" } })
    expect(batch.request_counts).toEqual({ total: 40, completed: output.length, failed: errors.length })
    const { records, findings, left } = await books(made.id)
    expect([records.length, findings, left]).toEqual([output.length, [], 0])
    expect((await openai().batches.cancel(made.id)).status).toBe("cancelled")
  })

  it("begin nothing more once they are cancelled, though a node has taken parts of them", async () => {
    let asked = 0
    gateway().vendor.script(async (call) => {
      asked++
      await call.wait(300)
      return answering({ words: ["ok"], inTokens: 10, outTokens: 2 })(call)
    })
    const made = await create(Array.from({ length: 100 }, (_, at) => line(`n${at}`)))
    await expect.poll(() => asked).toBeGreaterThan(0)
    await openai().batches.cancel(made.id)
    // A node looks once a second whether a batch goes on.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const begun = asked
    const batch = await ended(made.id)
    expect(asked).toBe(begun)
    expect(batch.request_counts?.completed).toBeLessThanOrEqual(begun)
    expect(begun).toBeLessThan(100)
  })

  it("are their owner's alone", async () => {
    says()
    const made = await create([line("a")])
    await expect(openai("other").batches.retrieve(made.id)).rejects.toMatchObject({ status: 404 })
    await expect(openai("other").batches.cancel(made.id)).rejects.toMatchObject({ status: 404 })
    expect((await openai("other").batches.list()).data).toEqual([])
    const batch = await ended(made.id)
    await expect(openai("other").files.content(batch.output_file_id ?? "")).rejects.toMatchObject({ status: 404 })
    await expect(openai().batches.cancel(made.id)).rejects.toMatchObject({ status: 409 })
  })

  it("are the same batch when they are made again with their Idempotency-Key", async () => {
    says()
    const input_file_id = await upload([line("a")])
    const asked = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const
    const make = (key: string, more: object = {}) =>
      openai().batches.create({ ...asked, ...more }, { headers: { "idempotency-key": key } })
    const [first, second, third] = await Promise.all([make("one"), make("one"), make("one")])
    expect([second.id, third.id]).toEqual([first.id, first.id])
    expect((await make("one")).id).toBe(first.id)
    expect((await make("two")).id).not.toBe(first.id)
    await expect(make("one", { metadata: { other: "yes" } })).rejects.toMatchObject({ status: 409 })
    await ended(first.id)
    const { records, findings, left } = await books(first.id)
    expect([records.length, findings, left]).toEqual([1, [], 0])
  })

  it("are listed in pages, the newest first", async () => {
    says()
    const made = [await create([line("a")]), await create([line("b")]), await create([line("c")])].map(({ id }) => id)
    const listed: Array<string> = []
    for await (const batch of openai().batches.list({ limit: 2 })) listed.push(batch.id)
    expect(listed.slice(0, 3)).toEqual(made.toReversed())
    expect(new Set(listed).size).toBe(listed.length)
  })

  it.each(["/v1/responses", "/v1/embeddings", "/v1/completions"] as const)(
    "answer requests to %s",
    async (endpoint) => {
      says()
      const bodies = {
        "/v1/responses": { model: "main", input: "Hi", max_output_tokens: 50 },
        "/v1/embeddings": { model: "embed", input: "Hi" },
        "/v1/completions": { model: "main", prompt: "Hi", max_tokens: 50 },
      }
      const body = bodies[endpoint]
      const made = await create([{ custom_id: "a", method: "POST", url: endpoint, body }], { endpoint })
      const batch = await ended(made.id)
      expect(batch, JSON.stringify(made.errors ?? (await linesOf(batch.error_file_id)))).toMatchObject({
        status: "completed",
        request_counts: { completed: 1 },
      })
      expect((await books(made.id)).records).toHaveLength(1)
    },
  )
})
