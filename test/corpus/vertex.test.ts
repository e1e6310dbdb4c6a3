/** Recorded replies of Gemini on Vertex AI through their dialect: text, calls, stop and usage as recorded. */
import { describe, expect, it } from "vitest"
import { objectAt, objectsAt, parseObject, stringAt } from "../../src/dialects/parse/json.ts"
import { chatOf } from "../support/chat-of.ts"
import { isStream, recordingsOf } from "../support/recorded/recordings.ts"
import { decodeText, fold } from "../support/replay.ts"

const google = { project: "p", location: "global", credentials: "env:X" }
const dialect = chatOf({ dialect: "gemini", profile: "vertex", google })

describe("replies", () => {
  it.for(recordingsOf("vertex-gemini"))("%s", ([, recording]) => {
    const { body } = recording.response
    const got = fold(isStream(recording) ? decodeText(dialect, body) : dialect.decodeBody(body))
    expect([got.faults, got.done]).toEqual([[], true])
    if (isStream(recording)) return
    const json = parseObject(body)
    const [candidate] = objectsAt(json, "candidates")
    const parts = objectsAt(objectAt(candidate, "content"), "parts")
    const textOf = (thought: boolean) =>
      parts
        .filter((part) => (part["thought"] === true) === thought)
        .map((part) => stringAt(part, "text") ?? "")
        .join("")
    const said = (kind: string) => got.blocks.map((block) => (block.t === kind && "v" in block ? block.v : "")).join("")
    expect([said("text"), said("reasoning")]).toEqual([textOf(false), textOf(true)])
    expect(got.blocks.flatMap((block) => (block.t === "tool_call" ? [[block.name, block.input]] : []))).toEqual(
      parts.flatMap((part) => {
        const call = objectAt(part, "functionCall")
        return call === undefined ? [] : [[call["name"], call["args"] ?? {}]]
      }),
    )
    const usage = objectAt(json, "usageMetadata")
    const out = Number(usage?.["candidatesTokenCount"] ?? 0) + Number(usage?.["thoughtsTokenCount"] ?? 0)
    expect([got.usage?.inTokens, got.usage?.outTokens]).toEqual([usage?.["promptTokenCount"], out])
    if (candidate === undefined) return
    const ended = parts.some((part) => "functionCall" in part) ? "tool_call" : "end"
    const stops: Readonly<Record<string, string>> = {
      STOP: ended,
      MODEL_ARMOR: "filtered",
      UNEXPECTED_TOOL_CALL: "malformed_call",
    }
    expect(got.stop).toBe(stops[String(candidate["finishReason"])])
  })
})
