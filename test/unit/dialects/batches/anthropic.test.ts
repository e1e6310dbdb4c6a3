/** Batches of Anthropic. */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { anthropicBatches as anthropic } from "../../../../src/dialects/anthropic/batches.ts"
import { dialectOf } from "../../../../src/dialects/index.ts"
import { mediaFileOf } from "../../../support/media-file-of.ts"
import { bodyText, followed, wireOf } from "./steps.ts"

const params = { model: "claude-opus-5-5", max_tokens: 10, messages: [{ role: "user", content: "hi" }] }
const submission = { id: "sub_1", group: "", lines: 2 }

describe("a line", () => {
  it("has the request and its id; features that are asked for are a group of their own", () => {
    const line = Result.getOrThrow(anthropic.line(wireOf("/v1/messages", params), "line-1"))
    expect(JSON.parse(line.text)).toEqual({ custom_id: "line-1", params })
    expect(line).toMatchObject({ group: "", items: 1 })
    const beta = wireOf("/v1/messages", params, { "anthropic-beta": "compact-2026-01-12" })
    expect(Result.getOrThrow(anthropic.line(beta, "a")).group).toBe("compact-2026-01-12")
  })

  it.each([
    ["a stream", wireOf("/v1/messages", params, { accept: "text/event-stream" }), "a"],
    ["another endpoint", wireOf("/v1/messages/count_tokens", params), "a"],
    ["an id with a point", wireOf("/v1/messages", params), "a.b"],
    ["an id that is too long", wireOf("/v1/messages", params), "a".repeat(65)],
  ])("of %s is refused", (_what, wire, id) => {
    expect(Result.isFailure(anthropic.line(wire, id))).toBe(true)
  })
})

describe("a submission", () => {
  const lines = ["a", "b"].map((id) => Result.getOrThrow(anthropic.line(wireOf("/v1/messages", params), id)).text)
  const content = mediaFileOf(lines.join(anthropic.between))

  it("is one request with all lines", async () => {
    const { asked, end } = followed(anthropic.submit({ ...submission, group: "x,y" }, content), [
      { body: { id: "msgbatch_1", type: "message_batch", processing_status: "in_progress" } },
    ])
    expect(end).toEqual({ id: "msgbatch_1" })
    expect(asked).toMatchObject([
      { creates: true, request: { path: "/v1/messages/batches", headers: { "anthropic-beta": "x,y" } } },
    ])
    expect(JSON.parse(await bodyText(asked[0]?.request ?? wireOf("", "")))).toEqual({
      requests: [
        { custom_id: "a", params },
        { custom_id: "b", params },
      ],
    })
  })

  it("asks for no features if its group has none", () => {
    const { asked } = followed(anthropic.submit(submission, content), [{ body: {} }])
    expect(asked[0]?.request.headers).toEqual({ accept: "application/json" })
  })

  it.each<[string, Parameters<typeof followed>[1], string, string]>([
    [
      "too large",
      [{ status: 413, body: { type: "error", error: { type: "request_too_large", message: "m" } } }],
      "request_too_large",
      "request",
    ],
    [
      "overloaded",
      [{ status: 529, body: { type: "error", error: { type: "overloaded_error", message: "m" } } }],
      "overloaded_error",
      "moment",
    ],
    ["no id", [{ body: {} }], "malformed_reply", "moment"],
  ])("ends with the vendor's fault: %s", (_what, replies, code, blame) => {
    expect(followed(anthropic.submit(submission, content), replies).end).toMatchObject({ code, blame })
  })
})

describe("a batch whose answer was lost", () => {
  const sinceMs = Date.parse("2026-11-29T12:00:00Z")
  const listed = (id: string, created_at: string, counts: object) => ({ id, created_at, request_counts: counts })
  const own = listed("msgbatch_2", "2026-11-29T12:00:05Z", {
    processing: 1,
    succeeded: 0,
    errored: 0,
    canceled: 0,
    expired: 1,
  })

  it.each<[string, object, ReadonlyArray<string>, string | undefined]>([
    ["by its size and time", { data: [own] }, ["msgbatch_2"], undefined],
    [
      "although the clocks differ",
      { data: [{ ...own, created_at: "2026-11-29T11:58:00Z" }] },
      ["msgbatch_2"],
      undefined,
    ],
    ["not at another size", { data: [listed("m", "2026-11-29T12:00:05Z", { processing: 3 })] }, [], undefined],
    [
      "not at an earlier time",
      { data: [{ ...own, created_at: "2026-11-29T11:00:00Z" }], has_more: true },
      [],
      undefined,
    ],
    ["on a later page", { data: [listed("m", "2026-11-29T12:00:05Z", { processing: 3 })], has_more: true }, [], "m"],
  ])("may be found %s", (_what, body, ids, next) => {
    const found = anthropic.found(JSON.stringify(body), submission, sinceMs)
    expect(found?.batches.map(({ batch, isSure }) => [batch.id, isSure])).toEqual(ids.map((id) => [id, false]))
    expect(found?.next).toBe(next)
  })

  it("is listed from the newest on", () => {
    expect(anthropic.find(submission).path).toBe("/v1/messages/batches?limit=1000")
    expect(anthropic.find(submission, "m").path).toBe("/v1/messages/batches?limit=1000&after_id=m")
    expect(anthropic.found("{}", submission, sinceMs)).toBeUndefined()
  })
})

describe("a status", () => {
  const batch = { id: "msgbatch_1" }
  const of = (more: object) => anthropic.status(JSON.stringify({ id: "msgbatch_1", ...more }), batch)
  const counts = (canceled: number, expired: number) => ({
    request_counts: { processing: 0, succeeded: 1, errored: 1, canceled, expired },
  })
  const elsewhere = { results_url: "https://elsewhere.example/steal" }

  it.each<[object, string, ReadonlyArray<string>]>([
    [{ processing_status: "in_progress" }, "running", []],
    [{ processing_status: "canceling" }, "running", []],
    [
      { processing_status: "ended", ...counts(0, 0), ...elsewhere },
      "ended",
      ["/v1/messages/batches/msgbatch_1/results"],
    ],
    [{ processing_status: "ended", ...counts(2, 0) }, "cancelled", ["/v1/messages/batches/msgbatch_1/results"]],
    [{ processing_status: "ended", ...counts(0, 2) }, "expired", ["/v1/messages/batches/msgbatch_1/results"]],
  ])("%j is %s", (more, state, places) => {
    const found = of(more)
    expect(found?.state).toBe(state)
    expect(found?.results.map((place) => (place.t === "file" ? place.request.path : "lines"))).toEqual(places)
  })

  it("has counts at the end", () => {
    expect(of({ processing_status: "ended", ...counts(2, 3) })?.counts).toEqual({ completed: 1, failed: 6 })
    expect(of({ processing_status: "in_progress", ...counts(0, 0) })?.counts).toBeUndefined()
  })

  it("of a batch that was archived has no results", () => {
    const found = of({ processing_status: "ended", ...counts(0, 0), archived_at: "2026-12-28T00:00:00Z" })
    expect(found).toMatchObject({ state: "ended", results: [], fault: { code: "results_archived" } })
  })

  it("that is unknown counts as running, and is named", () => {
    expect(of({ processing_status: "paused" })).toMatchObject({ state: "running", unknownState: "paused" })
    expect(of({})).toBeUndefined()
  })

  it("has its requests", () => {
    const status = of({ processing_status: "ended" })
    expect([anthropic.poll(batch).path, anthropic.cancel(batch).path]).toEqual([
      "/v1/messages/batches/msgbatch_1",
      "/v1/messages/batches/msgbatch_1/cancel",
    ])
    expect(status && anthropic.removals(batch, status)).toMatchObject([
      { method: "DELETE", path: "/v1/messages/batches/msgbatch_1" },
    ])
  })
})

describe("a line of results", () => {
  const failure = { type: "error", error: { type: "invalid_request_error", message: "max_tokens: Field required" } }

  it.each<[string, string, object]>([
    [
      "an answer, with its text",
      '{"custom_id":"a","result":{"type":"succeeded","message":{"id": "msg_1", "n": 1.10}}}',
      { t: "answered", id: "a", status: 200, body: '{"id": "msg_1", "n": 1.10}' },
    ],
    [
      "an error of the request",
      JSON.stringify({ custom_id: "a", result: { type: "errored", error: failure } }),
      { t: "answered", id: "a", status: 400, body: JSON.stringify(failure) },
    ],
    [
      "an error of the vendor",
      JSON.stringify({ custom_id: "a", result: { type: "errored", error: { error: { type: "overloaded_error" } } } }),
      { t: "answered", id: "a", status: 529 },
    ],
    ["a cancelled line", '{"custom_id":"a","result":{"type":"canceled"}}', { t: "cancelled", id: "a" }],
    ["an expired line", '{"custom_id":"a","result":{"type":"expired"}}', { t: "expired", id: "a" }],
    [
      "an unknown result",
      '{"custom_id":"a","result":{"type":"new"}}',
      { t: "errored", fault: { code: "malformed_reply" } },
    ],
    ["an answer without a message", '{"custom_id":"a","result":{"type":"succeeded"}}', { t: "errored", id: "a" }],
    ["no id", '{"result":{"type":"expired"}}', { t: "without_id" }],
    ["a line that breaks off", '{"custom_id":"a","result":{"type":"exp', { t: "unreadable" }],
  ])("is %s", (_what, text, result) => {
    expect(anthropic.result(text)).toMatchObject(result)
  })

  it("is read by the decoders of whole replies", () => {
    const text = JSON.stringify({ custom_id: "a", result: { type: "errored", error: failure } })
    const result = anthropic.result(text)
    if (result.t !== "answered") throw new Error("no answer")
    expect(dialectOf({ dialect: "anthropic" }).decodeError(result.status, result.body)).toMatchObject({
      blame: "request",
      field: "max_tokens",
    })
  })
})

it("clouds have no batches in this form", () => {
  const google = { project: "p", location: "l" }
  expect(dialectOf({ dialect: "anthropic", profile: "vertex", google }).batch).toBeUndefined()
  expect(dialectOf({ dialect: "anthropic", profile: "bedrock" }).batch).toBeUndefined()
  expect(dialectOf({ dialect: "anthropic", profile: "azure" }).batch).toBeUndefined()
})
