/** Every recording decodes, and its usage is the vendor's own. */
import { describe, expect, it } from "vitest"
import type { Dialect, VendorEvent } from "../../src/vendor/dialects/dialect.ts"
import { objectAt, parseObject } from "../../src/vendor/dialects/json.ts"
import { decodeText, type Folded, fold } from "../vendor/replay.ts"
import { corpora, isStream, type Recording, recordingsOf } from "./recordings.ts"
import { stated, totalsOf } from "./stated.ts"

const decode = (dialect: Dialect, recording: Recording): ReadonlyArray<VendorEvent> =>
  isStream(recording) ? decodeText(dialect, recording.response.body) : dialect.decodeBody(recording.response.body)

/** Recordings that are no good replies, by the vendor or by the recorder: what comes of them instead. */
const odd: Readonly<Record<string, Partial<Folded>>> = {
  // The vendor refused in the middle of a stream.
  "vercel-ai__openai-error.1.stream.json": { faults: ["insufficient_quota", "insufficient_quota"] },
  "pydantic-ai__test_groq.test_tool_use_failed_error_streaming_with_text.0.json": { faults: ["tool_use_failed"] },
  "pydantic-ai__test_openrouter.test_openrouter_stream_error.0.json": { faults: ["unknown"] },
  // Two frames lack their closing brace.
  "vercel-ai__parallel-tool-call-wrapper.1.stream.json": { faults: ["malformed_reply", "malformed_reply"] },
}

const coverage = (name: string, replies: ReadonlyArray<Folded>): string => {
  const count = (keys: ReadonlyArray<string>) => {
    const counts = new Map<string, number>()
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
    return [...counts].map(([key, times]) => `${key} ${times}`).join(", ")
  }
  return [
    `${name}: ${replies.length} replies`,
    `  blocks: ${count(replies.flatMap(({ blocks }) => blocks.map(({ t }) => t)))}`,
    `  stops: ${count(replies.map(({ stop }) => stop ?? "none"))}`,
    `  dimensions: ${count(replies.flatMap(({ usage }) => Object.keys(usage?.dims ?? {})))}`,
  ].join("\n")
}

// Some error replies were recorded without their status.
const isError = ({ response }: Recording) =>
  response.status >= 400 || objectAt(parseObject(response.body), "error") !== undefined

describe.each(corpora)("recordings of $folder", ({ folder, name, dialect }) => {
  const recordings = recordingsOf(folder)
  const good = recordings.filter(([file, recording]) => !isError(recording) && odd[file] === undefined)

  it.skipIf(recordings.length === 0)("good replies decode without a fault, with the vendor's own usage", () => {
    const replies = good.map(([file, recording]) => {
      const folded = fold(decode(dialect, recording))
      expect(folded.faults, file).toEqual([])
      expect(folded.done, file).toBe(true)
      expect(folded.stop, file).toBeDefined()
      expect(totalsOf(folded.usage), file).toEqual(stated[name](recording))
      return folded
    })
    console.log(coverage(folder, replies))
  })

  it.skipIf(recordings.length === 0)("errors give a machine code and keep their text to themselves", () => {
    for (const [file, { response }] of recordings.filter(([, recording]) => isError(recording))) {
      const fault = dialect.decodeError(response.status, response.body)
      expect(fault.status, file).toBe(response.status)
      expect(fault.code, file).toMatch(/^[a-z0-9_]+$/)
    }
    for (const [file, recording] of recordings) {
      const outcome = odd[file]
      if (outcome !== undefined) expect(fold(decode(dialect, recording)), file).toMatchObject(outcome)
    }
  })
})
