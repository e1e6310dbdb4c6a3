/** Vendors' replies about batches may be anything: they are read, or they are not, and nothing is thrown. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import type { BatchDialect } from "../../../../src/dialects/batch-dialect.ts"
import { dialectOf } from "../../../../src/dialects/index.ts"
import { wireOf } from "./steps.ts"

const dialects = {
  openai: ["openai-chat", "/chat/completions", ["body"]],
  anthropic: ["anthropic", "/v1/messages", ["params"]],
  gemini: ["gemini", "/v1beta/models/m:generateContent", ["request"]],
} as const

const batchesOf = (name: keyof typeof dialects): BatchDialect => {
  const { batch } = dialectOf({ dialect: dialects[name][0] })
  if (batch === undefined) throw new Error("no batches")
  return batch
}

/** Names that the dialects read, with values that are not theirs. */
const Value = Schema.Union([
  Schema.String,
  Schema.Finite,
  Schema.Null,
  Schema.Boolean,
  Schema.Array(Schema.Null),
  Schema.Struct({}),
  Schema.Literals([
    "completed",
    "failed",
    "ended",
    "BATCH_STATE_SUCCEEDED",
    "a",
    "file-1",
    "files/a",
    "batches/a",
    "succeeded",
  ]),
])
const Inner = Schema.Record(
  Schema.Literals([
    "type",
    "code",
    "state",
    "output",
    "responsesFile",
    "inlinedResponses",
    "status_code",
    "body",
    "message",
    "error",
    "data",
    "key",
    "embedding",
    "displayName",
  ]),
  Value,
)
const names = [
  ...["id", "name", "status", "processing_status", "done", "data", "operations", "has_more", "nextPageToken"],
  ...["errors", "request_counts", "output_file_id", "custom_id", "key", "metadata", "response", "result", "error"],
] as const
const Reply = Schema.Record(Schema.Literals(names), Schema.Union([Value, Inner, Schema.Array(Inner)]))

const submission = { id: "sub_1", group: "", lines: 1 }
const vendorBatch = { id: "batches/b" }

describe.each(["openai", "anthropic", "gemini"] as const)("%s", (name) => {
  const batch = batchesOf(name)
  const read = (text: string) => {
    const status = batch.status(text, vendorBatch)
    if (status !== undefined) batch.removals(vendorBatch, status)
    batch.found(text, submission, 0)
    const step = batch.submit(
      { ...submission, group: dialects[name][1] },
      { bytes: 1, sha256: "", head: Buffer.of(), chunks: none },
    )
    if (step.t === "ask") for (const code of [200, 400, 503]) step.read({ status: code, headers: {}, body: text })
    return batch.result(text)
  }

  it.prop("reads any text", [Schema.String], ([text]) => {
    expect(["unreadable", "without_id"]).toContain(read(text).t)
  })

  it.prop("reads any reply that has its names", [Reply], ([reply]) => {
    const text = JSON.stringify(reply)
    read(text)
    expect(read(text.slice(0, -1)).t).toBe("unreadable")
  })

  it.prop("writes any body in one line, without a change", [Schema.Record(Schema.String, Schema.Json)], ([body]) => {
    const [, path, [member]] = dialects[name]
    const { text } = Result.getOrThrow(batch.line(wireOf(path, JSON.stringify(body, undefined, 2)), "line-1"))
    expect(text).not.toMatch(/[\r\n]/)
    expect(JSON.parse(text)[member]).toEqual(JSON.parse(JSON.stringify(body)))
  })
})

async function* none() {}
