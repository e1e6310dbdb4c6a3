/** Batches of Gemini. */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { geminiBatches as gemini } from "../../../../src/dialects/gemini/batches.ts"
import { geminiEmbedding } from "../../../../src/dialects/gemini/embedding.ts"
import { dialectOf } from "../../../../src/dialects/index.ts"
import { parseObject } from "../../../../src/dialects/parse/json.ts"
import { mediaFileOf } from "../../../support/media-file-of.ts"
import { bodyText, followed, type Reply, wireOf } from "./steps.ts"

const contents = { contents: [{ role: "user", parts: [{ text: "hi" }] }] }
const generate = "/v1beta/models/gemini-3-pro:generateContent"
const embed = "/v1beta/models/gemini-embedding-001:batchEmbedContents"
const submission = { id: "sub_1", group: generate, lines: 2 }

describe("a line", () => {
  it("has the request and its key; its group is the model", () => {
    const line = Result.getOrThrow(gemini.line(wireOf(generate, contents), "line-1"))
    expect(JSON.parse(line.text)).toEqual({ key: "line-1", request: contents })
    expect(line).toMatchObject({ group: generate, items: 1 })
  })

  it("for one vector has the request of its text", () => {
    const request = { model: "models/gemini-embedding-001", content: { parts: [{ text: "a" }] } }
    const line = Result.getOrThrow(gemini.line(wireOf(embed, { requests: [request] }), "a"))
    expect(JSON.parse(line.text)).toEqual({ key: "a", request })
    expect(line.group).toBe(embed)
  })

  it.each([
    ["two vectors", wireOf(embed, { requests: [{}, {}] }), "a"],
    [
      "a stream",
      wireOf("/v1beta/models/m:streamGenerateContent?alt=sse", contents, { accept: "text/event-stream" }),
      "a",
    ],
    ["a video", wireOf("/v1beta/models/veo-3:predictLongRunning", {}), "a"],
    ["an id with a point", wireOf(generate, contents), "a.b"],
  ])("of %s is refused", (_what, wire, id) => {
    expect(Result.isFailure(gemini.line(wire, id))).toBe(true)
  })
})

describe("a submission", () => {
  const content = mediaFileOf("line1\nline2")
  const started: Reply = {
    headers: {
      "x-goog-upload-url": "https://elsewhere.example/upload/v1beta/files?upload_id=u1&upload_protocol=resumable",
    },
    body: "",
  }
  const file = { name: "files/f1", state: "ACTIVE" }
  const made = { name: "batches/b1", metadata: { displayName: "sub_1", state: "BATCH_STATE_PENDING" } }

  it("starts an upload, sends its lines to the vendor's own host, and makes the batch with its name", async () => {
    const { asked, end } = followed(gemini.submit(submission, content), [started, { body: { file } }, { body: made }])
    expect(end).toEqual({ id: "batches/b1", inputFile: "files/f1" })
    expect(asked.map(({ request, creates }) => [request.path, creates])).toEqual([
      ["/upload/v1beta/files", false],
      ["/upload/v1beta/files?upload_id=u1&upload_protocol=resumable", false],
      ["/v1beta/models/gemini-3-pro:batchGenerateContent", true],
    ])
    expect(asked[0]?.request.headers).toMatchObject({
      "x-goog-upload-protocol": "resumable",
      "x-goog-upload-command": "start",
      "x-goog-upload-header-content-length": "11",
      "x-goog-upload-header-content-type": "application/jsonl",
    })
    expect(asked[1]?.request.headers).toMatchObject({
      "x-goog-upload-command": "upload, finalize",
      "x-goog-upload-offset": "0",
    })
    expect(await bodyText(asked[1]?.request ?? wireOf("", ""))).toBe("line1\nline2")
    expect(JSON.parse(String(asked[2]?.request.body))).toEqual({
      batch: { displayName: "sub_1", inputConfig: { fileName: "files/f1" } },
    })
  })

  it("for vectors has a method of its own", () => {
    const { asked } = followed(gemini.submit({ ...submission, group: embed }, content), [
      started,
      { body: { file } },
      { body: made },
    ])
    expect(asked[2]?.request.path).toBe("/v1beta/models/gemini-embedding-001:asyncBatchEmbedContent")
    expect(JSON.parse(String(asked[2]?.request.body))).toEqual({
      batch: { displayName: "sub_1", inputConfig: { file_name: "files/f1" } },
    })
  })

  it("waits until the file is active", () => {
    const processing = { name: "files/f1", state: "PROCESSING" }
    const { asked, end } = followed(gemini.submit(submission, content), [
      started,
      { body: { file: processing } },
      { body: processing },
      { body: file },
      { body: made },
    ])
    expect(end).toMatchObject({ id: "batches/b1" })
    expect(asked.slice(2, 4).map(({ request, afterMs }) => [request.path, afterMs])).toEqual([
      ["/v1beta/files/f1", 2000],
      ["/v1beta/files/f1", 2000],
    ])
  })

  const refusal = { error: { code: 400, message: "Unsupported MIME type: jsonl", status: "INVALID_ARGUMENT" } }
  it.each<[string, ReadonlyArray<Reply>, string]>([
    ["an upload that is refused", [{ status: 400, body: refusal }], "invalid_argument"],
    ["no address", [{ body: "" }], "malformed_reply"],
    ["an address that is none", [{ headers: { "x-goog-upload-url": "upload" }, body: "" }], "malformed_reply"],
    [
      "no upload at the address",
      [{ headers: { "x-goog-upload-url": "https://a.example/v1beta/x" }, body: "" }],
      "malformed_reply",
    ],
    [
      "a file that cannot be read",
      [started, { body: { file: { ...file, state: "FAILED", error: { code: 3 } } } }],
      "unknown",
    ],
    ["a file with a strange name", [started, { body: { file: { name: "files/../x" } } }], "malformed_reply"],
    ["a batch without a name", [started, { body: { file } }, { body: {} }], "malformed_reply"],
  ])("ends with the vendor's fault: %s", (_what, replies, code) => {
    expect(followed(gemini.submit(submission, content), replies).end).toMatchObject({ code })
  })
})

describe("a batch whose answer was lost", () => {
  const sinceMs = Date.parse("2026-11-29T12:00:00Z")
  const operation = (name: string, displayName: string, createTime = "2026-11-29T12:00:05Z") => ({
    name,
    metadata: { displayName, createTime, inputConfig: { fileName: "files/f1" } },
  })

  it.each<[string, object, ReadonlyArray<string>, string | undefined]>([
    [
      "by its name",
      { operations: [operation("batches/b1", "x"), operation("batches/b2", "sub_1")] },
      ["batches/b2"],
      undefined,
    ],
    ["on a later page", { operations: [operation("batches/b1", "x")], nextPageToken: "p 2" }, [], "p 2"],
    ["not in an empty list", {}, [], undefined],
    [
      "not on pages before it was sent",
      { operations: [operation("batches/b1", "x", "2026-11-28T00:00:00Z")], nextPageToken: "p" },
      [],
      undefined,
    ],
    ["not with a strange name", { operations: [operation("../b1", "sub_1")] }, [], undefined],
  ])("is found %s", (_what, body, ids, next) => {
    const found = gemini.found(JSON.stringify(body), submission, sinceMs)
    expect(found?.batches.map(({ batch, isSure }) => [batch.id, isSure])).toEqual(ids.map((id) => [id, true]))
    expect(found?.next).toBe(next)
  })

  it("is listed by pages", () => {
    expect(gemini.find(submission).path).toBe("/v1beta/batches?pageSize=100")
    expect(gemini.found('{"error":{}}', submission, sinceMs)).toBeUndefined()
    expect(gemini.find(submission, "p 2").path).toBe("/v1beta/batches?pageSize=100&pageToken=p%202")
  })
})

describe("a status", () => {
  const batch = { id: "batches/b1", inputFile: "files/f1" }
  const of = (more: object) => gemini.status(JSON.stringify({ name: "batches/b1", ...more }), batch)
  const state = (name: string, more: object = {}) => ({ metadata: { state: name, ...more } })
  const file = { responsesFile: "files/r1" }
  const place = "/v1beta/files/r1:download?alt=media"

  it.each<[object, string, ReadonlyArray<string>]>([
    [state("BATCH_STATE_PENDING"), "running", []],
    [state("BATCH_STATE_RUNNING"), "running", []],
    [state("BATCH_STATE_SUCCEEDED", { output: file }), "ended", [place]],
    [state("JOB_STATE_SUCCEEDED", { output: file }), "ended", [place]],
    [{ ...state("BATCH_STATE_SUCCEEDED"), done: true, response: file }, "ended", [place]],
    [{ ...state("BATCH_STATE_SUCCEEDED"), done: true, response: { output: file } }, "ended", [place]],
    [{ done: true, response: file }, "ended", [place]],
    [{ done: false }, "running", []],
    [state("BATCH_STATE_CANCELLED"), "cancelled", []],
    [{ done: true, error: { code: 1, message: "m" } }, "cancelled", []],
    [{ done: true, error: { code: 13, message: "m" } }, "failed", []],
    [state("BATCH_STATE_EXPIRED", { output: file }), "expired", [place]],
    [{ ...state("BATCH_STATE_FAILED"), error: { code: 3, message: "m" } }, "failed", []],
    [state("BATCH_STATE_SUCCEEDED", { output: { responsesFile: "files/../x" } }), "ended", []],
  ])("%j is %s", (more, expected, places) => {
    const found = of(more)
    expect(found?.state).toBe(expected)
    expect(found?.results.map((one) => (one.t === "file" ? one.request.path : "lines"))).toEqual(places)
  })

  it.each([["response"], ["metadata", "output"]])("has results with it, in their own text, at %s", (...path) => {
    const items = '[{"metadata":{"key":"a"},"response":{"n": 1.10}},7,{"key":"b","error":{"code":3}}]'
    const output = `{"inlinedResponses":{"inlinedResponses":${items}}}`
    const body = path.reduceRight((inner, name) => `{"${name}":${inner},"done":true,"name":"batches/b1"}`, output)
    const found = gemini.status(body, batch)
    expect(found?.results).toEqual([
      { t: "lines", lines: ['{"metadata":{"key":"a"},"response":{"n": 1.10}}', '{"key":"b","error":{"code":3}}'] },
    ])
  })

  it("has counts, which are strings", () => {
    const batchStats = { requestCount: "9", successfulRequestCount: "3", failedRequestCount: "1" }
    expect(of(state("BATCH_STATE_RUNNING", { batchStats }))?.counts).toEqual({ completed: 3, failed: 1 })
    expect(of(state("BATCH_STATE_RUNNING"))?.counts).toBeUndefined()
  })

  it("that is unknown counts as running, and is named", () => {
    expect(of(state("BATCH_STATE_PAUSED"))).toMatchObject({ state: "running", unknownState: "PAUSED" })
    expect(gemini.status("{}", batch)).toBeUndefined()
  })

  it("has its requests, and removes the vendor's copies", () => {
    expect([gemini.poll(batch).path, gemini.cancel(batch).path, gemini.cancel(batch).body]).toEqual([
      "/v1beta/batches/b1",
      "/v1beta/batches/b1:cancel",
      "{}",
    ])
    const status = of({ done: true, response: file })
    expect(status && gemini.removals(batch, status).map(({ path }) => path)).toEqual([
      "/v1beta/batches/b1",
      "/v1beta/files/f1",
      "/v1beta/files/r1",
    ])
  })
})

describe("a line of results", () => {
  it.each<[string, string, object]>([
    [
      "an answer, with its text",
      '{"key":"a","response":{"n": 1.10}}',
      { t: "answered", id: "a", status: 200, body: '{"n": 1.10}' },
    ],
    [
      "an answer with its key in the metadata",
      '{"metadata":{"key":"a"},"response":{}}',
      { t: "answered", id: "a", body: "{}" },
    ],
    ["a cancelled line", '{"key":"a","error":{"code":1,"message":"m"}}', { t: "cancelled", id: "a" }],
    ["a refused line", '{"key":"a","error":{"code":3,"message":"m"}}', { t: "answered", id: "a", status: 400 }],
    [
      "a line that is too early",
      '{"key":"a","error":{"code":8,"message":"m"}}',
      { t: "answered", id: "a", status: 429 },
    ],
    [
      "an error with a status of HTTP",
      '{"key":"a","error":{"code":503,"message":"m"}}',
      { t: "answered", id: "a", status: 503 },
    ],
    ["an error without a code", '{"key":"a","error":{"message":"m"}}', { t: "answered", id: "a", status: 500 }],
    ["neither", '{"key":"a"}', { t: "errored", id: "a", fault: { code: "malformed_reply" } }],
    ["no key", '{"response":{}}', { t: "without_id" }],
    ["a key that is a number", '{"key":1,"response":{}}', { t: "without_id" }],
    ["a line that breaks off", '{"key":"a","resp', { t: "unreadable" }],
  ])("is %s", (_what, text, result) => {
    expect(gemini.result(text)).toMatchObject(result)
  })

  it("with an error is read like a refusal of the request", () => {
    const result = gemini.result('{"key":"a","error":{"code":3,"message":"User location is not supported"}}')
    if (result.t !== "answered") throw new Error("no answer")
    expect(dialectOf({ dialect: "gemini" }).decodeError(result.status, result.body)).toMatchObject({
      code: "invalid_argument",
      blame: "region",
    })
  })

  it("with a vector is read like a reply with vectors", () => {
    const result = gemini.result('{"key":"a","response":{"embedding":{"values":[0.5, 1]},"tokenCount":"3"}}')
    if (result.t !== "answered") throw new Error("no answer")
    const decoded = geminiEmbedding.decode(parseObject(result.body) ?? {}, { input: ["x"] }, {})
    expect(decoded).toEqual({ vectors: [[0.5, 1]], inTokens: 3 })
  })
})
