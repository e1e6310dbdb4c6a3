/**
 * The meaning of a vendor's event of a realtime session for money. The event itself goes to the client unchanged. Pure.
 * Source: OpenAI API reference, "Realtime server events", with the names of the preview.
 */
import type { Stop } from "../../protocol/exchange.ts"
import { type JsonObject, objectAt, objectsAt, parseObject, stringAt } from "../parse/json.ts"
import type { TranscriptUsage, VendorEvent } from "../realtime-dialect.ts"
import { bytesOfBase64, bytesPerSecond } from "./audio.ts"
import { usageOfDone, usageOfTranscript } from "./usage.ts"

export type OpenAiEvent =
  | Extract<VendorEvent, { readonly is: "delta" | "created" | "done" | "session" | "malformed" }>
  | { readonly is: "transcribed"; readonly usage: TranscriptUsage; readonly event: JsonObject }
  /** Whether the error is about the account, not about the client's event: then its text is not for the client. */
  | { readonly is: "error"; readonly ofAccount: boolean; readonly event: JsonObject }
  | { readonly is: "other" }

/** Events begin with their type; the first bytes show it without reading the rest. */
const peekBytes = 96
const typeAtStart = /^\{\s*"type"\s*:\s*"([\w.]{1,80})"/

export const readVendorEvent = (bytes: Buffer): OpenAiEvent => {
  const peeked = typeAtStart.exec(bytes.toString("latin1", 0, peekBytes))?.[1]
  if (peeked !== undefined) {
    const isAudio = audioDeltas.has(peeked)
    if (isAudio || textDeltas.has(peeked)) {
      const delta = readDelta(bytes, isAudio)
      if (delta !== undefined) return delta
    } else if (!meaningful.has(peeked)) return other
  }
  const event = parseObject(bytes.toString("utf8"))
  const type = stringAt(event, "type")
  return event === undefined || type === undefined ? { is: "malformed" } : meaningOf(type, event)
}

const other: OpenAiEvent = { is: "other" }

const audioDeltas: ReadonlySet<string> = new Set(["response.output_audio.delta", "response.audio.delta"])
const textDeltas: ReadonlySet<string> = new Set([
  "response.output_text.delta",
  "response.text.delta",
  "response.output_audio_transcript.delta",
  "response.audio_transcript.delta",
  "response.function_call_arguments.delta",
])
const meaningful: ReadonlySet<string> = new Set([
  "response.created",
  "response.done",
  "session.created",
  "session.updated",
  "conversation.item.input_audio_transcription.completed",
  "error",
])

const idField = Buffer.from('"response_id":"')
const deltaField = Buffer.from('"delta":"')
const quote = 0x22

/**
 * The delta, without parsing: deltas are by far the most frequent.
 * @returns undefined if it is not in the usual form
 */
const readDelta = (bytes: Buffer, isAudio: boolean): OpenAiEvent | undefined => {
  const idAt = bytes.indexOf(idField)
  const deltaAt = bytes.indexOf(deltaField)
  if (idAt === -1 || deltaAt === -1) return undefined
  const idFrom = idAt + idField.length
  const responseId = bytes.toString("latin1", idFrom, bytes.indexOf(quote, idFrom))
  const from = deltaAt + deltaField.length
  // Base64 has no escapes; of text, an escaped quote ends it early, by a few bytes of an estimate.
  const characters = Math.max(0, bytes.indexOf(quote, from) - from)
  return deltaOf(responseId, characters, isAudio)
}

const deltaOf = (responseId: string, characters: number, isAudio: boolean): OpenAiEvent =>
  isAudio
    ? { is: "delta", responseId, audioBytes: bytesOfBase64(characters), textBytes: 0 }
    : { is: "delta", responseId, audioBytes: 0, textBytes: characters }

const meaningOf = (type: string, event: JsonObject): OpenAiEvent => {
  const isAudio = audioDeltas.has(type)
  if (isAudio || textDeltas.has(type)) {
    return deltaOf(stringAt(event, "response_id") ?? "", (stringAt(event, "delta") ?? "").length, isAudio)
  }
  switch (type) {
    case "response.created":
      return { is: "created", responseId: responseIdOf(event) }
    case "response.done":
      return doneOf(event)
    case "session.created":
    case "session.updated":
      return sessionOf(objectAt(event, "session"))
    case "conversation.item.input_audio_transcription.completed":
      return { is: "transcribed", usage: usageOfTranscript(event), event }
    case "error":
      return { is: "error", ofAccount: stringAt(objectAt(event, "error"), "type") !== "invalid_request_error", event }
    default:
      return other
  }
}

const responseIdOf = (event: JsonObject): string => stringAt(objectAt(event, "response"), "id") ?? ""

const doneOf = (event: JsonObject): OpenAiEvent => {
  const response = objectAt(event, "response")
  const status = stringAt(response, "status")
  return {
    is: "done",
    responseId: responseIdOf(event),
    usage: usageOfDone(event),
    stop: stopOf(status, response),
    hasFailed: status === "failed",
  }
}

const stopOf = (status: string | undefined, response: JsonObject | undefined): Stop => {
  if (status === "cancelled" || status === "failed") return "interrupted"
  if (status === "incomplete") {
    return stringAt(objectAt(response, "status_details"), "reason") === "content_filter" ? "filtered" : "max_tokens"
  }
  return objectsAt(response, "output").some((item) => item["type"] === "function_call") ? "tool_call" : "end"
}

const sessionOf = (session: JsonObject | undefined): OpenAiEvent => {
  const audio = objectAt(session, "audio")
  const inBytesPerSecond = bytesPerSecond(objectAt(audio, "input")?.["format"] ?? session?.["input_audio_format"])
  const outBytesPerSecond = bytesPerSecond(objectAt(audio, "output")?.["format"] ?? session?.["output_audio_format"])
  return {
    is: "session",
    ...(inBytesPerSecond !== undefined && { inBytesPerSecond }),
    ...(outBytesPerSecond !== undefined && { outBytesPerSecond }),
  }
}
