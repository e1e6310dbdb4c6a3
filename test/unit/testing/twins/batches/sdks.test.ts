/** The official SDKs at the twins of batches, and what the twins refuse. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import { Effect, Exit, Scope } from "effect"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  type BatchTwin,
  makeAnthropicBatches,
  makeGeminiBatches,
  makeOpenaiBatches,
  repeating,
  serveBatches,
  startScriptedVendor,
} from "../../../../../src/testing/index.ts"

let nowMs = Date.parse("2026-11-29T12:00:00Z")
const now = () => nowMs
const hour = 3_600_000

/** Serves a twin during the tests of a file. @returns its URL, once it is served */
const useBatches = (twin: BatchTwin): (() => string) => {
  const scope = Scope.makeUnsafe()
  let url = ""
  beforeAll(async () => {
    const other = serveBatches(twin, (call) => {
      call.head(404, { "content-type": "application/json" })
      call.end("{}")
    })
    url = (await Effect.runPromise(Scope.provide(startScriptedVendor(other), scope))).url
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => url
}

const folder = mkdtempSync(join(tmpdir(), "batches-"))
afterAll(() => rmSync(folder, { recursive: true }))

describe("OpenAI's SDK", () => {
  const url = useBatches(makeOpenaiBatches(repeating, { nowMs: now }))
  const client = () => new OpenAI({ apiKey: "k", baseURL: `${url()}/v1`, maxRetries: 0 })
  const line = (id: string, more: object = {}, body: object = {}) =>
    JSON.stringify({
      custom_id: id,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: "gpt-5", messages: [{ role: "user", content: id }], ...body },
      ...more,
    })
  const upload = async (text: string, name = "in.jsonl") =>
    client().files.create({ file: await toFile(Buffer.from(text), name), purpose: "batch" })
  const make = async (text: string) =>
    client().batches.create({
      input_file_id: (await upload(text)).id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
      metadata: { a: "b" },
    })

  it("uploads, creates, retrieves, lists, and reads results", async () => {
    const made = await make(`${line("a")}\n${line("b")}\n`)
    expect(made).toMatchObject({ object: "batch", status: "in_progress", metadata: { a: "b" }, errors: null })
    await client().batches.retrieve(made.id)
    const done = await client().batches.retrieve(made.id)
    expect(done).toMatchObject({
      status: "completed",
      request_counts: { total: 2, completed: 2, failed: 0 },
      error_file_id: null,
    })
    const content = await (await client().files.content(done.output_file_id ?? "")).text()
    expect(content.trim().split("\n")).toHaveLength(2)
    const listed = []
    for await (const batch of client().batches.list({ limit: 1 })) listed.push(batch.id)
    expect(listed).toEqual([made.id])
    expect((await client().files.list({ purpose: "batch" })).data.map(({ status }) => status)).toEqual(["processed"])
    expect(await client().files.delete(done.input_file_id)).toMatchObject({ deleted: true })
  })

  it("cancels; a completed batch refuses that", async () => {
    const made = await make(line("a"))
    expect(await client().batches.cancel(made.id)).toMatchObject({ status: "cancelling" })
    expect(await client().batches.retrieve(made.id)).toMatchObject({ status: "cancelled" })
    expect(await client().batches.cancel(made.id)).toMatchObject({ status: "cancelled" })
    const other = await make(line("a"))
    await client().batches.retrieve(other.id)
    await client().batches.retrieve(other.id)
    await expect(client().batches.cancel(other.id)).rejects.toMatchObject({
      status: 409,
      message: "409 Cannot cancel a batch with status 'completed'.",
    })
  })

  it("finds batches that expired after their window", async () => {
    const made = await make(`${line("a")}\n${line("b")}`)
    nowMs += 25 * hour
    const done = await client().batches.retrieve(made.id)
    expect(done).toMatchObject({ status: "expired", request_counts: { total: 2, completed: 1, failed: 1 } })
    expect(await (await client().files.content(done.error_file_id ?? "")).text()).toContain('"code":"batch_expired"')
  })

  it.each<[string, string, ReadonlyArray<object>]>([
    ["no JSON", `${line("a")}\nnope`, [{ code: "invalid_json_line", line: 2, param: null }]],
    [
      "no id",
      `${line("a", { custom_id: undefined })}`,
      [{ code: "missing_required_parameter", line: 1, param: "custom_id" }],
    ],
    ["another endpoint", line("a", { url: "/v1/embeddings" }), [{ code: "invalid_url", line: 1, param: "url" }]],
    ["an id twice", `${line("a")}\n${line("a")}`, [{ code: "duplicate_custom_id", line: 2 }]],
    ["another model", `${line("a")}\n${line("b", {}, { model: "gpt-4o" })}`, [{ code: "model_mismatch", line: 2 }]],
    ["no model", line("a", {}, { model: undefined }), [{ code: "invalid_request", param: "body.model" }]],
    ["no messages", line("a", {}, { messages: undefined }), [{ code: "invalid_request", param: "body.messages" }]],
    ["a stream", line("a", {}, { stream: true }), [{ code: "streaming_unsupported", param: "body.stream" }]],
    [
      "all that is wrong",
      `${line("a", { url: "/v1/embeddings" })}\n${line("b")}\n{}`,
      [
        { code: "invalid_url", line: 1 },
        { code: "missing_required_parameter", line: 3 },
      ],
    ],
  ])("reads why a batch failed: %s", async (_what, text, errors) => {
    const made = await make(text)
    const failed = await client().batches.retrieve(made.id)
    expect(failed.status).toBe("failed")
    expect(failed.errors?.data).toMatchObject(errors)
  })

  it("gets a failed batch for a file that is unknown, and errors for other faults", async () => {
    const create = (more: object) =>
      client().batches.create({
        ...{ input_file_id: "file-none", endpoint: "/v1/chat/completions", completion_window: "24h" },
        ...more,
      })
    const made = await create({})
    expect((await client().batches.retrieve(made.id)).errors?.data?.[0]).toMatchObject({
      code: "invalid_request",
      param: "file_id",
    })
    await expect(create({ endpoint: "/v1/nope" })).rejects.toMatchObject({ param: "endpoint", code: "invalid_value" })
    await expect(create({ completion_window: "7d" })).rejects.toMatchObject({ param: "completion_window" })
    await expect(create({ metadata: { tags: [] } })).rejects.toMatchObject({
      param: "metadata.tags",
      code: "invalid_type",
    })
    await expect(create({ nope: 1 })).rejects.toMatchObject({ status: 400 })
    await expect(client().batches.retrieve("batch_none")).rejects.toMatchObject({ status: 404 })
    await expect(client().files.retrieve("file-none")).rejects.toMatchObject({
      message: "404 No such File object: file-none",
    })
    await expect(upload(line("a"), "in.csv")).rejects.toMatchObject({
      message: "400 Invalid file format for Batch API. Must be .jsonl",
    })
    await expect(upload("nope")).rejects.toMatchObject({ status: 400 })
    const flat = {
      file: await toFile(Buffer.from(line("a")), "in.jsonl"),
      purpose: "batch",
      expires_after: 3600,
    } as const
    // @ts-expect-error the SDK's types know that it is an object
    await expect(client().files.create(flat)).rejects.toMatchObject({
      message: "400 Additional properties are not allowed ('expires_after' was unexpected)",
    })
    const timed = { ...flat, expires_after: { anchor: "created_at", seconds: 3600 } } as const
    expect((await client().files.create(timed)).expires_at).toBe(Math.floor(nowMs / 1000) + 3600)
  })
})

describe("Anthropic's SDK", () => {
  const url = useBatches(makeAnthropicBatches(repeating, now))
  const client = () => new Anthropic({ apiKey: "k", baseURL: url(), maxRetries: 0 })
  const request = (custom_id: string, more: object = {}) => ({
    custom_id,
    params: {
      model: "claude-opus-4-5",
      max_tokens: 10,
      messages: [{ role: "user" as const, content: custom_id }],
      ...more,
    },
  })

  it("creates, retrieves, lists, cancels and deletes", async () => {
    const { batches } = client().messages
    const made = await batches.create({ requests: [request("a"), request("b", { nonsense: 1 })] })
    expect(made).toMatchObject({
      processing_status: "in_progress",
      request_counts: { processing: 2 },
      results_url: null,
    })
    await expect(batches.delete(made.id)).rejects.toMatchObject({ status: 400 })
    await batches.retrieve(made.id)
    expect(await batches.retrieve(made.id)).toMatchObject({
      processing_status: "ended",
      request_counts: { processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 0 },
    })
    const listed = []
    for await (const batch of batches.list({ limit: 1 })) listed.push(batch.id)
    expect(listed).toEqual([made.id])
    const reply = await fetch(`${url()}/v1/messages/batches/${made.id}/results`, {
      headers: { "anthropic-version": "x" },
    })
    expect(reply.headers.get("content-type")).toBe("application/x-jsonl")
    const lines = (await reply.text()).trim().split("\n")
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { custom_id: "a", result: { type: "succeeded", message: { usage: { service_tier: "batch" } } } },
      {
        custom_id: "b",
        result: { type: "errored", error: { error: { message: "nonsense: Extra inputs are not permitted" } } },
      },
    ])
    expect(await batches.delete(made.id)).toEqual({ id: made.id, type: "message_batch_deleted" })
    const other = await batches.create({ requests: [request("a")] })
    expect(await batches.cancel(other.id)).toMatchObject({ processing_status: "canceling" })
    expect(await batches.retrieve(other.id)).toMatchObject({ processing_status: "ended" })
  })

  it("finds that results are archived", async () => {
    const { batches } = client().messages
    const made = await batches.create({ requests: [request("a")] })
    nowMs += 30 * 24 * hour
    expect(await batches.retrieve(made.id)).toMatchObject({ archived_at: expect.any(String), results_url: null })
  })

  it.each<[string, ReadonlyArray<ReturnType<typeof request>>, string]>([
    ["no requests", [], "requests: List should have at least 1 item"],
    ["a long id", [request("a".repeat(65))], "requests.0.custom_id: String should have at most 64 characters"],
    ["an id with a point", [request("a"), request("a.b")], "requests.1.custom_id: String should match pattern"],
    ["an id twice", [request("a"), request("a")], "'a' is not unique"],
    [
      "another field",
      [{ ...request("a"), ...{ method: "POST" } }],
      "requests.0.method: Extra inputs are not permitted",
    ],
  ])("is refused: %s", async (_what, requests, message) => {
    await expect(client().messages.batches.create({ requests: [...requests] })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(message),
    })
  })
})

describe("Google's SDK", () => {
  const twin = makeGeminiBatches(repeating, now)
  const url = useBatches(twin)
  const client = () => new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: url(), apiVersion: "v1beta" } })
  const model = "gemini-2.5-flash"
  const ask = (text: string) => ({ contents: [{ role: "user", parts: [{ text }] }] })

  it("uploads, creates, retrieves, downloads, lists and deletes", async () => {
    const path = join(folder, "in.jsonl")
    writeFileSync(path, ["a", "b"].map((key) => JSON.stringify({ key, request: ask(key) })).join("\n"))
    const file = await client().files.upload({
      file: path,
      config: { mimeType: "application/jsonl", displayName: "in" },
    })
    expect(file).toMatchObject({ displayName: "in", state: "ACTIVE" })
    const made = await client().batches.create({ model, src: file.name ?? "", config: { displayName: "x" } })
    expect(made).toMatchObject({ state: "JOB_STATE_RUNNING", displayName: "x" })
    await client().batches.get({ name: made.name ?? "" })
    const done = await client().batches.get({ name: made.name ?? "" })
    expect(done.state).toBe("JOB_STATE_SUCCEEDED")
    const results = join(folder, "out.jsonl")
    await client().files.download({ file: done.dest?.fileName ?? "", downloadPath: results })
    await expect.poll(() => readFileSync(results, "utf8").trim().split("\n").length).toBe(2)
    const listed = []
    for await (const batch of await client().batches.list({ config: { pageSize: 1 } })) listed.push(batch.name)
    expect(listed).toEqual([made.name])
    await client().batches.delete({ name: made.name ?? "" })
    await client().files.delete({ name: file.name ?? "" })
    expect(twin.batches()).toEqual([])
  })

  it("sends requests with the batch, and gets results with it", async () => {
    twin.plan({ inline: true })
    const made = await client().batches.create({ model, src: [{ ...ask("a"), metadata: { key: "a" } }] })
    await client().batches.get({ name: made.name ?? "" })
    const done = await client().batches.get({ name: made.name ?? "" })
    expect(done.dest?.inlinedResponses).toMatchObject([{ metadata: { key: "a" }, response: {} }])
    twin.plan({ inline: false })
  })

  it("embeds texts", async () => {
    const src = { inlinedRequests: { contents: ["a", "b"] } }
    const made = await client().batches.createEmbeddings({ model: "gemini-embedding-001", src })
    twin.plan({ inline: true })
    await client().batches.get({ name: made.name ?? "" })
    const done = await client().batches.get({ name: made.name ?? "" })
    expect(done.dest?.inlinedEmbedContentResponses).toMatchObject([
      { response: { embedding: { values: [0.5, 1] } } },
      { response: { embedding: { values: [0.5, 1] } } },
    ])
    twin.plan({ inline: false })
  })

  it("cancels, and finds that a batch expired", async () => {
    const first = await client().batches.create({ model, src: [ask("a")] })
    await client().batches.cancel({ name: first.name ?? "" })
    expect((await client().batches.get({ name: first.name ?? "" })).state).toBe("JOB_STATE_CANCELLED")
    const second = await client().batches.create({ model, src: [ask("a")] })
    nowMs += 49 * hour
    expect((await client().batches.get({ name: second.name ?? "" })).state).toBe("JOB_STATE_EXPIRED")
  })

  it("is refused files that are unknown, and types without a slash", async () => {
    await expect(client().batches.create({ model, src: "files/none" })).rejects.toMatchObject({ status: 400 })
    await expect(client().files.get({ name: "files/none" })).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining("You do not have permission to access the File none or it may not exist."),
    })
    const path = join(folder, "jsonl.jsonl")
    writeFileSync(path, "{}")
    await expect(client().files.upload({ file: path, config: { mimeType: "jsonl" } })).rejects.toThrow()
  })
})
