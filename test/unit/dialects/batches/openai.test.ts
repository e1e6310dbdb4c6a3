/** Batches of OpenAI, and of vendors with the same API. */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import type { BatchDialect } from "../../../../src/dialects/batch-dialect.ts"
import { dialectOf, dialects } from "../../../../src/dialects/index.ts"
import { mediaFileOf } from "../../../support/media-file-of.ts"
import { bodyText, followed, wireOf } from "./steps.ts"

const batchesOf = (vendor: Parameters<typeof dialectOf>[0]): BatchDialect => {
  const { batch } = dialectOf(vendor)
  if (batch === undefined) throw new Error("no batches")
  return batch
}
const openai = batchesOf({ dialect: "openai-chat" })
const azure = batchesOf({ dialect: "openai-chat", profile: "azure" })
const dated = batchesOf({ dialect: "openai-chat", profile: "azure", apiVersion: "2024-10-21" })
const groq = batchesOf({ dialect: "openai-chat", profile: "groq" })

const chat = { model: "gpt-5", messages: [{ role: "user", content: "hi" }] }
const submission = { id: "sub_1", group: "/chat/completions", lines: 2 }

describe("a line", () => {
  it.each<[string, BatchDialect, string, object, string, string, number]>([
    ["chat", openai, "/chat/completions", chat, "/v1/chat/completions", "/chat/completions", 1],
    ["a response", openai, "/responses", { model: "m", input: "hi" }, "/v1/responses", "/responses", 1],
    ["one vector", openai, "/embeddings", { model: "m", input: "a" }, "/v1/embeddings", "/embeddings", 1],
    [
      "three vectors",
      openai,
      "/embeddings",
      { model: "m", input: ["a", "b", "c"] },
      "/v1/embeddings",
      "/embeddings",
      3,
    ],
    ["tokens of one text", openai, "/embeddings", { model: "m", input: [1, 2, 3] }, "/v1/embeddings", "/embeddings", 1],
    ["a moderation", openai, "/moderations", { input: "a" }, "/v1/moderations", "/moderations", 1],
    ["a picture", openai, "/images/generations", { prompt: "a" }, "/v1/images/generations", "/images/generations", 1],
    ["chat at Azure", azure, "/openai/v1/chat/completions", chat, "/chat/completions", "/chat/completions", 1],
    [
      "chat of a deployment at Azure",
      dated,
      "/openai/deployments/gpt-5/chat/completions?api-version=2024-10-21",
      chat,
      "/chat/completions",
      "/chat/completions",
      1,
    ],
    ["chat at Groq", groq, "/chat/completions", chat, "/v1/chat/completions", "/chat/completions", 1],
  ])("of %s", (_what, batch, path, body, url, group, items) => {
    const line = Result.getOrThrow(batch.line(wireOf(path, body), "line-1"))
    expect(JSON.parse(line.text)).toEqual({ custom_id: "line-1", method: "POST", url, body })
    expect(line).toMatchObject({ group, items })
  })

  it("keeps the text of a body, in one line", () => {
    const text = '{\r\n "model": "m",\n\n "n": 9007199254740993, "t": "a\\nb\u2028" }'
    expect(Result.getOrThrow(openai.line(wireOf("/chat/completions", text), "a")).text).toBe(
      '{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{  "model": "m",  "n": 9007199254740993, "t": "a\\nb\u2028" }}',
    )
    const bytes = { ...wireOf("/chat/completions", ""), body: new TextEncoder().encode('{"a":"é"}') }
    expect(Result.getOrThrow(openai.line(bytes, "a")).text).toContain('"body":{"a":"é"}}')
  })

  it.each<[string, BatchDialect, Parameters<BatchDialect["line"]>[0], string]>([
    ["a stream", openai, wireOf("/chat/completions", chat, { accept: "text/event-stream" }), "a"],
    ["another endpoint", openai, wireOf("/videos", {}), "a"],
    ["a form", openai, { ...wireOf("/images/generations", ""), body: ["--b"] }, "a"],
    [
      "a form as text",
      openai,
      wireOf("/images/generations", "--b", { "content-type": "multipart/form-data; boundary=b" }),
      "a",
    ],
    ["no POST", openai, { ...wireOf("/chat/completions", chat), method: "GET" }, "a"],
    ["an id without characters", openai, wireOf("/chat/completions", chat), ""],
    ["an id that is too long", openai, wireOf("/chat/completions", chat), "a".repeat(65)],
    ["an id with a quote", openai, wireOf("/chat/completions", chat), 'a"b'],
    ["vectors at Groq", groq, wireOf("/embeddings", { input: "a" }), "a"],
    ["pictures at Azure", azure, wireOf("/openai/v1/images/generations", {}), "a"],
  ])("of %s is refused", (_what, batch, wire, id) => {
    expect(Result.isFailure(batch.line(wire, id))).toBe(true)
  })
})

describe("a submission", () => {
  const content = mediaFileOf("line1\nline2")
  const file = { id: "file-1", object: "file", status: "processed" }
  const made = { id: "batch_1", object: "batch", status: "validating", metadata: { weir_batch: "sub_1" } }

  it("uploads its lines, and makes the batch with its id", async () => {
    const { asked, end } = followed(openai.submit(submission, content), [{ body: file }, { body: made }])
    expect(end).toEqual({ id: "batch_1", inputFile: "file-1" })
    const [upload, create] = asked
    expect(upload).toMatchObject({ creates: false, afterMs: 0, request: { path: "/files" } })
    const form = await bodyText(upload?.request ?? wireOf("", ""))
    expect(form).toContain('name="purpose"\r\n\r\nbatch\r\n')
    expect(form).toContain('name="expires_after[anchor]"\r\n\r\ncreated_at\r\n')
    expect(form).toContain('name="expires_after[seconds]"\r\n\r\n604800\r\n')
    expect(form).toContain('filename="sub_1.jsonl"\r\ncontent-type: application/jsonl\r\n\r\nline1\nline2\r\n')
    expect(create).toMatchObject({ creates: true, request: { path: "/batches" } })
    expect(JSON.parse(String(create?.request.body))).toEqual({
      input_file_id: "file-1",
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
      metadata: { weir_batch: "sub_1" },
      output_expires_after: { anchor: "created_at", seconds: 604_800 },
    })
  })

  it("waits until Azure has read the file", async () => {
    const pending = { body: { ...file, status: "pending" } }
    const { asked, end } = followed(dated.submit(submission, content), [
      pending,
      pending,
      { body: file },
      { body: made },
    ])
    expect(end).toEqual({ id: "batch_1", inputFile: "file-1" })
    expect(asked.map(({ request, afterMs }) => [request.method, request.path, afterMs])).toEqual([
      [undefined, "/openai/files?api-version=2024-10-21", 0],
      ["GET", "/openai/files/file-1?api-version=2024-10-21", 2000],
      ["GET", "/openai/files/file-1?api-version=2024-10-21", 2000],
      [undefined, "/openai/batches?api-version=2024-10-21", 0],
    ])
    expect(await bodyText(asked[0]?.request ?? wireOf("", ""))).toContain("\r\n1209600\r\n")
    expect(JSON.parse(String(asked[3]?.request.body))).toMatchObject({ endpoint: "/chat/completions" })
  })

  it("sets no time for files at Groq, which has none", async () => {
    const { asked } = followed(groq.submit(submission, content), [{ body: file }])
    expect(await bodyText(asked[0]?.request ?? wireOf("", ""))).not.toContain("expires_after")
  })

  it.each<[string, Parameters<typeof followed>[1], string, string]>([
    [
      "a file that is refused",
      [{ status: 400, body: { error: { message: "File is too large." } } }],
      "unknown",
      "request",
    ],
    ["a file that cannot be read", [{ body: { ...file, status: "error" } }], "file_error", "request"],
    ["a file without an id", [{ body: { ...file, id: "a b" } }], "malformed_reply", "moment"],
    ["no JSON", [{ body: "<html>" }], "malformed_reply", "moment"],
    [
      "a batch that is refused",
      [{ body: file }, { status: 429, body: { error: { code: "rate_limit_exceeded", message: "m" } } }],
      "rate_limit_exceeded",
      "moment",
    ],
    [
      "a wrong key",
      [{ status: 401, body: { error: { code: "invalid_api_key", message: "m" } } }],
      "invalid_api_key",
      "credential",
    ],
    ["a batch without an id", [{ body: file }, { body: {} }], "malformed_reply", "moment"],
  ])("ends with the vendor's fault: %s", (_what, replies, code, blame) => {
    expect(followed(openai.submit(submission, content), replies).end).toMatchObject({ code, blame })
  })
})

describe("a batch whose answer was lost", () => {
  const own = { id: "batch_2", created_at: 1_000_000, input_file_id: "file-2", metadata: { weir_batch: "sub_1" } }
  const other = { id: "batch_3", created_at: 1_000_000, metadata: null }
  const page = (data: ReadonlyArray<object>, has_more = false) => ({ object: "list", data, has_more })
  const sinceMs = 1_000_000_000

  it("is listed from the newest on", () => {
    expect(openai.find(submission)).toMatchObject({ method: "GET", path: "/batches?limit=100" })
    expect(openai.find(submission, "batch_3").path).toBe("/batches?limit=100&after=batch_3")
    expect(dated.find(submission).path).toBe("/openai/batches?limit=100&api-version=2024-10-21")
  })

  it.each<[string, object, ReadonlyArray<string>, string | undefined]>([
    ["by its metadata", page([other, own]), ["batch_2"], undefined],
    ["twice, if it was made twice", page([own, { ...own, id: "batch_4" }]), ["batch_2", "batch_4"], undefined],
    ["not by that of another", page([other, { ...own, metadata: { weir_batch: "sub_2" } }]), [], undefined],
    ["on a later page", page([other], true), [], "batch_3"],
    ["not on pages before it was sent", page([{ ...other, created_at: 1 }], true), [], undefined],
    ["not in an empty list", page([], true), [], undefined],
  ])("is found %s", (_what, body, ids, next) => {
    const found = openai.found(JSON.stringify(body), submission, sinceMs)
    expect(found?.batches.map(({ batch, isSure }) => [batch.id, isSure])).toEqual(ids.map((id) => [id, true]))
    expect(found?.next).toBe(next)
  })

  it("has its file, so that it can be removed", () => {
    expect(openai.found(JSON.stringify(page([own])), submission, sinceMs)?.batches[0]?.batch.inputFile).toBe("file-2")
  })

  it("is not looked for in a reply of another form", () => {
    expect(openai.found('{"error":{}}', submission, sinceMs)).toBeUndefined()
  })
})

describe("a status", () => {
  const batch = { id: "batch_1", inputFile: "file-1" }
  const of = (status: string, more: object = {}) =>
    openai.status(
      JSON.stringify({
        id: "batch_1",
        status,
        input_file_id: "file-1",
        output_file_id: null,
        error_file_id: null,
        ...more,
      }),
      batch,
    )
  const both = { output_file_id: "file-o", error_file_id: "file-e" }
  const contents = ["/files/file-o/content", "/files/file-e/content"]

  it.each<[string, object, string, ReadonlyArray<string>]>([
    ["validating", {}, "running", []],
    ["in_progress", both, "running", []],
    ["finalizing", {}, "running", []],
    ["cancelling", both, "running", []],
    ["completed", both, "ended", contents],
    ["completed", { error_file_id: "file-e" }, "ended", contents.slice(1)],
    ["completed", {}, "ended", []],
    ["expired", both, "expired", contents],
    ["cancelled", { output_file_id: "file-o" }, "cancelled", contents.slice(0, 1)],
    ["failed", {}, "failed", []],
  ])("%s with %j is %s", (status, more, state, places) => {
    const found = of(status, more)
    expect(found?.state).toBe(state)
    expect(found?.results.map((place) => (place.t === "file" ? place.request.path : "lines"))).toEqual(places)
  })

  it.each([
    [{ request_counts: { total: 5, completed: 2, failed: 1 } }, { completed: 2, failed: 1 }],
    [{ request_counts: { total: 5, completed: 2 } }, { completed: 2, failed: 0 }],
    [{ request_counts: null }, undefined],
    [{}, undefined],
  ])("with %j has counts %j", (more, counts) => {
    expect(of("in_progress", more)?.counts).toEqual(counts)
  })

  it("of a batch that failed names the lines at fault", () => {
    const error = (code: string, line: number | null) => ({ code, line, message: "m", param: "body.model" })
    const found = of("failed", {
      errors: { object: "list", data: [error("invalid_json_line", 2), error("model_not_found", 7)] },
    })
    expect(found?.fault).toMatchObject({ code: "invalid_json_line", blame: "request" })
    expect(found?.badLines.map(({ line, fault }) => [line, fault.code, fault.blame])).toEqual([
      [2, "invalid_json_line", "request"],
      [7, "model_not_found", "model"],
    ])
  })

  it("of a batch whose lines are all wrong names each of them", () => {
    const data = Array.from({ length: 50_000 }, (_, at) => ({
      code: "invalid_url",
      line: at + 1,
      message: "The URL provided for this request does not match the batch endpoint.",
      param: "url",
    }))
    expect(of("failed", { errors: { object: "list", data } })?.badLines).toHaveLength(50_000)
  })

  it("of a batch for which the queue has no room is a fault of the moment", () => {
    const found = of("failed", { errors: { data: [{ code: "token_limit_exceeded", line: null, message: "m" }] } })
    expect(found).toMatchObject({ fault: { code: "token_limit_exceeded", blame: "moment" }, badLines: [] })
  })

  it("that is unknown counts as running, and is named", () => {
    expect(of("paused")).toMatchObject({ state: "running", unknownState: "paused" })
  })

  it.each(["", "<html>", "{}", '{"status":1}'])("is not read from %j", (body) => {
    expect(openai.status(body, batch)).toBeUndefined()
  })

  it("names the vendor's files, which are removed", () => {
    const status = of("completed", both)
    expect(status?.files).toEqual(["file-1", "file-o", "file-e"])
    expect(status && openai.removals(batch, status).map(({ method, path }) => [method, path])).toEqual([
      ["DELETE", "/files/file-1"],
      ["DELETE", "/files/file-o"],
      ["DELETE", "/files/file-e"],
    ])
  })

  it("has its requests at its vendor's address", () => {
    expect([openai.poll(batch).path, openai.cancel(batch).path]).toEqual([
      "/batches/batch_1",
      "/batches/batch_1/cancel",
    ])
    expect(azure.poll(batch).path).toBe("/openai/v1/batches/batch_1")
    expect(dated.cancel(batch).path).toBe("/openai/batches/batch_1/cancel?api-version=2024-10-21")
  })
})

describe("a line of results", () => {
  const line = (more: object) =>
    JSON.stringify({ id: "batch_req_1", custom_id: "a", response: null, error: null, ...more })
  const failed = { error: { message: "m", type: "invalid_request_error", param: null, code: "invalid_value" } }

  it.each<[string, string, object]>([
    [
      "an answer, with its text",
      '{"custom_id":"a","error":null,"response":{"status_code":200,"body":{"n": 9007199254740993}}}',
      { t: "answered", id: "a", status: 200, body: '{"n": 9007199254740993}' },
    ],
    [
      "an error of the request",
      line({ response: { status_code: 400, request_id: "r", body: failed } }),
      { t: "answered", id: "a", status: 400, body: JSON.stringify(failed) },
    ],
    ["an expired line", line({ error: { code: "batch_expired", message: "m" } }), { t: "expired", id: "a" }],
    ["a cancelled line", line({ error: { code: "batch_cancelled", message: "m" } }), { t: "cancelled", id: "a" }],
    [
      "a line that took too long",
      line({ error: { code: "request_timeout", message: "m" } }),
      { t: "errored", id: "a", fault: { status: 408, code: "request_timeout", blame: "moment" } },
    ],
    ["a line with neither", line({}), { t: "errored", id: "a", fault: { code: "malformed_reply" } }],
    ["no status", line({ response: { body: {} } }), { t: "errored", id: "a", fault: { code: "malformed_reply" } }],
    ["no id", line({ custom_id: undefined, response: { status_code: 200, body: {} } }), { t: "without_id" }],
    ["an id that is null", line({ custom_id: null, response: { status_code: 200, body: {} } }), { t: "without_id" }],
    [
      "an id that no line has",
      line({ custom_id: "a b", response: { status_code: 200, body: {} } }),
      { t: "without_id" },
    ],
    ["a line that breaks off", line({}).slice(0, -1), { t: "unreadable" }],
    ["no object", "[]", { t: "unreadable" }],
  ])("is %s", (_what, text, result) => {
    expect(openai.result(text)).toMatchObject(result)
  })
})

it("the bounds of each vendor", () => {
  expect([openai, azure, groq].map(({ bounds, kinds }) => [bounds.items, bounds.bytes, kinds])).toEqual([
    [50_000, 200_000_000, ["chat", "embedding", "moderation", "image"]],
    [100_000, 200_000_000, ["chat", "embedding"]],
    [50_000, 100_000_000, ["chat"]],
  ])
  expect(dialects["openai-responses"].batch?.kinds).toEqual(openai.kinds)
  expect(dialectOf({ dialect: "openai-chat", profile: "deepseek" }).batch).toBeUndefined()
})
