/** Recorded replies of Bedrock through its dialect, streamed ones cut anywhere, and the recorded requests asked again. */
import { Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorRequest } from "../../src/dialects/chat-dialect.ts"
import { isObject, type JsonObject, objectAt, objectsAt, parseObject, stringAt } from "../../src/dialects/parse/json.ts"
import { type Block, Message } from "../../src/protocol/block.ts"
import { bedrockFrame } from "../../src/testing/vendor-replies.ts"
import { chatOf } from "../support/chat-of.ts"
import { type Recording, recordingsOf } from "../support/recorded/recordings.ts"
import { decodeBytes, decodePieces, type Folded, fold } from "../support/replay.ts"

const dialect = chatOf({ dialect: "bedrock" })
const recordings = recordingsOf("bedrock")
const isOf = (type: string) => (entry: readonly [string, Recording]) => entry[1].response.contentType === type

/** The content that the client got, in the form of Converse. */
const contentOf = ({ blocks }: Folded): ReadonlyArray<object> =>
  blocks.flatMap((block): ReadonlyArray<object> => {
    switch (block.t) {
      case "text":
        return [{ text: block.v }]
      case "tool_call":
        return [{ toolUse: { toolUseId: block.id, name: block.name, input: block.input } }]
      case "reasoning":
        if (block.redacted === true) {
          return [{ reasoningContent: { redactedContent: Buffer.from(block.v).toString("base64") } }]
        }
        return [
          {
            reasoningContent: {
              reasoningText: { text: block.v, ...(block.signature !== undefined && { signature: block.signature }) },
            },
          },
        ]
      default:
        return []
    }
  })

/** The content that a client is meant to get of recorded content. */
const expectedOf = (content: ReadonlyArray<JsonObject>): ReadonlyArray<object> =>
  content.flatMap((block): ReadonlyArray<object> => {
    const call = objectAt(block, "toolUse")
    if (call !== undefined) {
      const { toolUseId, name, input, type } = call
      return type === "server_tool_use" ? [] : [{ toolUse: { toolUseId, name, input } }]
    }
    const { text } = block
    if (typeof text === "string") return text === "" ? [] : [{ text }]
    const { reasoningContent } = block
    return reasoningContent === undefined ? [] : [{ reasoningContent }]
  })

const stops: Readonly<Record<string, string>> = {
  end_turn: "end",
  max_tokens: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_use: "tool_call",
  guardrail_intervened: "filtered",
  content_filtered: "filtered",
}

const usageIn = (usage: JsonObject | undefined) => ({
  inTokens: usage?.["inputTokens"],
  outTokens: usage?.["outputTokens"],
  cacheReadTokens: usage?.["cacheReadInputTokens"] ?? 0,
  cacheWriteTokens: usage?.["cacheWriteInputTokens"] ?? 0,
})

describe("whole replies", () => {
  it.for(recordings.filter(isOf("application/json")))("%s", ([, { response }]) => {
    if (response.status >= 400) {
      expect(dialect.decodeError(response.status, response.body)).toMatchObject({ status: 400, code: "status_400" })
      return
    }
    const body = parseObject(response.body)
    const got = fold(dialect.decodeBody(response.body))
    expect([got.faults, got.done]).toEqual([[], true])
    expect(contentOf(got)).toEqual(expectedOf(objectsAt(objectAt(objectAt(body, "output"), "message"), "content")))
    expect(got.stop).toBe(stops[stringAt(body, "stopReason") ?? ""])
    expect(got.usage).toMatchObject(usageIn(objectAt(body, "usage")))
  })
})

/** The frames of a stream; recordings without frames have one event a line. */
const bytesOf = ({ response }: Recording): Buffer => {
  if (response.contentType !== "application/x-ndjson") return Buffer.from(response.body, "latin1")
  const lines = response.body.split("\n").filter((line) => line.trim() !== "")
  return Buffer.concat(
    lines.flatMap((line) => Object.entries(parseObject(line) ?? {}).map(([type, event]) => frameOf(type, event))),
  )
}
const frameOf = (type: string, event: unknown) => bedrockFrame(type, isObject(event) ? event : {})

/** The events of a stream, read without our code: length, headers, and JSON between. */
const eventsIn = (bytes: Buffer): ReadonlyArray<readonly [type: string, event: JsonObject]> => {
  const events: Array<readonly [string, JsonObject]> = []
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    const start = at + 12
    const end = start + bytes.readUInt32BE(at + 4)
    const json = bytes.toString("utf8", end, at + bytes.readUInt32BE(at) - 4)
    // A header: its name, its kind, the length of its value, its value.
    const value = bytes.indexOf(":event-type", start) + ":event-type".length + 1
    const type = bytes.toString("utf8", value + 2, value + 2 + bytes.readUInt16BE(value))
    events.push([type, parseObject(json) ?? {}])
  }
  return events
}

describe("streamed replies", () => {
  const streams = [
    ...recordings.filter(isOf("application/vnd.amazon.eventstream")),
    ...recordings.filter(isOf("application/x-ndjson")),
  ]
  it.for(streams)("%s", ([, recording]) => {
    const bytes = bytesOf(recording)
    const events = eventsIn(bytes)
    const whole = decodePieces(dialect, [bytes])
    const got = fold(whole)
    const textOf = (key: string) =>
      events
        .flatMap(([, { delta }]) => (isObject(delta) ? [delta] : []))
        .map((delta) => stringAt(key === "text" ? delta : objectAt(delta, "reasoningContent"), "text") ?? "")
        .join("")
    const said = (kind: string) =>
      got.blocks.map((block) => (block.t === kind && "v" in block && !("redacted" in block) ? block.v : "")).join("")
    expect(got.faults).toEqual([])
    expect([said("text"), said("reasoning")]).toEqual([textOf("text"), textOf("reasoning")])
    const calls = events.flatMap(([, { start }]) =>
      isObject(start) && isObject(start["toolUse"]) ? [start["toolUse"]] : [],
    )
    expect(got.blocks.flatMap((block) => (block.t === "tool_call" ? [[block.id, block.name]] : []))).toEqual(
      calls.map(({ toolUseId, name }) => [toolUseId, name]),
    )
    const metadata = events.find(([, event]) => "usage" in event)?.[1]
    // A recording without its metadata is not a whole reply.
    expect(got.done).toBe(metadata !== undefined)
    if (metadata !== undefined) {
      const reason = events.find(([, event]) => "stopReason" in event)?.[1]["stopReason"]
      expect(got.stop).toBe(stops[String(reason)])
      expect(got.usage).toMatchObject(usageIn(objectAt(metadata, "usage")))
    }
    expect(decodeBytes(dialect, bytes)).toEqual(whole)
  })
})

const Thread = Schema.decodeUnknownSync(Schema.Array(Message))
const Json = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))

const blockOf = (block: JsonObject): ReadonlyArray<Block> => {
  const { text } = block
  if (typeof text === "string") return [{ t: "text", v: text }]
  const call = objectAt(block, "toolUse")
  if (call !== undefined) {
    return [{ t: "tool_call", id: String(call["toolUseId"]), name: String(call["name"]), input: Json(call["input"]) }]
  }
  const result = objectAt(block, "toolResult")
  if (result !== undefined) {
    const v = objectsAt(result, "content")
      .map((part) => stringAt(part, "text") ?? "")
      .join("")
    return [
      { t: "tool_result", id: String(result["toolUseId"]), v, ...(result["status"] === "error" && { isError: true }) },
    ]
  }
  const reasoned = objectAt(objectAt(block, "reasoningContent"), "reasoningText")
  if (reasoned !== undefined) {
    return [{ t: "reasoning", v: String(reasoned["text"]), signature: String(reasoned["signature"]) }]
  }
  const image = objectAt(block, "image")
  if (image !== undefined) {
    return [
      { t: "image", mime: `image/${String(image["format"])}`, data: String(objectAt(image, "source")?.["bytes"]) },
    ]
  }
  const document = objectAt(block, "document")
  if (document === undefined) return []
  const mime = document["format"] === "pdf" ? "application/pdf" : "text/plain"
  return [{ t: "file", mime, data: String(objectAt(document, "source")?.["bytes"]), name: String(document["name"]) }]
}

/** Cache points mark the block before them. */
const blocksOf = (content: ReadonlyArray<JsonObject>): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  for (const part of content) {
    const last = blocks.at(-1)
    if ("cachePoint" in part && (last?.t === "text" || last?.t === "tool_result")) {
      blocks.splice(-1, 1, { ...last, cacheable: true })
    } else blocks.push(...blockOf(part))
  }
  return blocks
}

/** Whether a request has something that twp/1 does not support: files in S3, files in results, video, tools of the vendor. */
const isOurs = (body: JsonObject): boolean =>
  !/"s3Location"|"video"|"systemTool"/.test(JSON.stringify(body)) &&
  objectsAt(body, "messages")
    .flatMap((message) => objectsAt(message, "content"))
    .flatMap((block) => ("toolResult" in block ? [objectsAt(objectAt(block, "toolResult"), "content")] : []))
    .every(([part, ...others]) => part !== undefined && "text" in part && others.length === 0)

/** Whether the thread ends with a cache point, which we set. */
const marksEnd = (body: JsonObject): boolean =>
  "cachePoint" in (objectsAt(objectsAt(body, "messages").at(-1), "content").at(-1) ?? {})

const hasBlocks = ({ blocks }: { readonly blocks: ReadonlyArray<Block> }): boolean => blocks.length > 0

const requestOf = (body: JsonObject, path: string): VendorRequest => {
  const tools = objectsAt(objectAt(body, "toolConfig"), "tools").flatMap((tool) => {
    const spec = objectAt(tool, "toolSpec")
    const { description } = spec ?? {}
    return spec === undefined
      ? []
      : [
          {
            name: String(spec["name"]),
            ...(typeof description === "string" && { description }),
            inputSchema: Json(objectAt(spec, "inputSchema")?.["json"]),
          },
        ]
  })
  const choice = objectAt(objectAt(body, "toolConfig"), "toolChoice")
  const named = stringAt(objectAt(choice, "tool"), "name")
  const messages = objectsAt(body, "messages").map(({ role, content }) => ({
    role,
    blocks: Array.isArray(content) ? blocksOf(content.filter(isObject)) : [],
  }))
  const inference = objectAt(body, "inferenceConfig")
  const { temperature, topP, stopSequences } = inference ?? {}
  return {
    model: decodeURIComponent(path.split("/")[2] ?? ""),
    thread: Thread([{ role: "system", blocks: blocksOf(objectsAt(body, "system")) }, ...messages].filter(hasBlocks)),
    tools,
    toolChoice:
      named !== undefined ? { name: named } : choice?.["any"] ? "required" : choice?.["auto"] ? "auto" : undefined,
    maxTokens: 1000,
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof topP === "number" && { topP }),
    stop: Array.isArray(stopSequences) ? stopSequences.map(String) : [],
    canReason: true,
    cache: { enabled: true, skipWrite: !marksEnd(body) },
    stream: path.endsWith("-stream"),
  }
}

describe("requests", () => {
  it.for(recordings.filter(([, { request }]) => isObject(request?.body) && isOurs(request.body)))(
    "%s",
    ([, { request }]) => {
      if (request === null || !isObject(request.body)) return
      const { messages, system, toolConfig } = request.body
      const wire = Result.getOrThrow(dialect.encode(requestOf(request.body, request.path)))
      const sent: JsonObject = JSON.parse(wire.body)
      expect(wire.path).toBe(request.path)
      // Blank text is refused, so a client that sends it has it taken out.
      const spoken = (value: unknown) => JSON.parse(JSON.stringify(value ?? []).replaceAll(/\{"text":"\s*"\},?/g, ""))
      expect(spoken(sent["system"])).toEqual(spoken(system))
      expect(sent["messages"]).toEqual(spoken(messages))
      if (objectsAt(objectAt(request.body, "toolConfig"), "tools").every((tool) => !("cachePoint" in tool))) {
        expect(JSON.parse(JSON.stringify(sent["toolConfig"] ?? null))).toEqual(
          toolConfig === undefined
            ? null
            : JSON.parse(JSON.stringify(toolConfig).replaceAll(/,"strict":(true|false)/g, "")),
        )
      }
    },
  )
})
