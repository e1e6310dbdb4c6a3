/**
 * A client's events of a realtime session: the events that may go to the vendor, and their meaning. Pure. Events that would
 * change what was admitted are refused; so are those that are not known. Source: OpenAI API reference, "Realtime client
 * events".
 */
import type { ReviewedPart } from "../../protocol/catalogue/policy.ts"
import { isObject, type JsonObject, objectAt, objectsAt, parseObject, stringAt } from "../parse/json.ts"
import {
  type Added,
  type ClientEvent,
  type EventRefusal,
  nothingAdded,
  type SessionLimits,
  type TranscriptUnit,
} from "../realtime-dialect.ts"
import { bytesOfBase64, bytesPerSecond } from "./audio.ts"

/** Sound and nothing else: it is forwarded unchanged. */
const plainAudio = /^\{\s*"type":\s*"input_audio_buffer\.append",\s*"audio":\s*"([A-Za-z0-9+/]*={0,2})"\s*\}$/

/** An event of sound and nothing else: readers disagree on a type that comes twice. */
export const isSoundEvent = (bytes: Buffer): boolean =>
  /^\{\s*"type"\s*:\s*"input_audio_buffer\./.test(bytes.toString("latin1", 0, 64)) && bytes.indexOf('"type"', 8) === -1

export const readClientEvent = (bytes: Buffer, limits: SessionLimits): ClientEvent => {
  const sound = plainAudio.exec(bytes.toString("latin1"))?.[1]
  if (sound !== undefined) return { is: "audio", audioBytes: bytesOfBase64(sound.length), sent: bytes }
  const event = parseObject(bytes.toString("utf8"))
  if (event === undefined) return refuse({ message: "The event is not a JSON object" })
  const eventId = stringAt(event, "event_id")
  const type = stringAt(event, "type")
  const refused = (message: string, param?: string) =>
    refuse({ message, ...(param !== undefined && { param }), ...(eventId !== undefined && { eventId }) })
  // The event is written again, because readers disagree on a key that comes twice.
  const sent = () => JSON.stringify(event)
  switch (type) {
    case "input_audio_buffer.append": {
      const audio = stringAt(event, "audio")
      if (audio === undefined) return refused("audio is required", "audio")
      return { is: "audio", audioBytes: bytesOfBase64(audio.length), sent: sent() }
    }
    case "input_audio_buffer.commit":
      return { is: "added", added: nothingAdded, sent: sent(), mayAnswer: true }
    case "input_audio_buffer.clear":
    case "output_audio_buffer.clear":
    case "conversation.item.retrieve":
    case "conversation.item.truncate":
    case "conversation.item.delete":
    case "response.cancel":
      return { is: "added", added: nothingAdded, sent: sent(), mayAnswer: false }
    case "conversation.item.create": {
      const item = objectAt(event, "item")
      const refusal = itemRefusal(item, "item")
      if (refusal !== undefined) return refused(...refusal)
      return { is: "added", added: addedBy(item === undefined ? [] : [item]), sent: sent(), mayAnswer: false }
    }
    case "response.create": {
      const response = objectAt(event, "response")
      const refusal = configRefusal(response, "response", limits) ?? inputRefusal(response)
      if (refusal !== undefined) return refused(...refusal)
      const added = addedBy(objectsAt(response, "input"), configWords(response))
      return { is: "respond", added, sent: sent(), maxOutTokens: maxOutOf(response), eventId }
    }
    case "session.update": {
      const session = objectAt(event, "session")
      if (session === undefined) return refused("session is required", "session")
      const refusal = sessionRefusal(session, limits) ?? configRefusal(session, "session", limits)
      if (refusal !== undefined) return refused(...refusal)
      // The vendor knows the model by another name.
      const { model: _, ...rest } = session
      return {
        is: "update",
        added: addedBy([], configWords(session)),
        sent: JSON.stringify({ ...event, session: rest }),
        maxOutTokens: maxOutOf(session),
        inBytesPerSecond: bytesPerSecond(
          objectAt(objectAt(session, "audio"), "input")?.["format"] ?? session["input_audio_format"],
        ),
        eventId,
      }
    }
    default:
      return refused(
        type === undefined ? "type is required" : `The event ${type.slice(0, 64)} is not supported`,
        "type",
      )
  }
}

const refuse = (refusal: EventRefusal): ClientEvent => ({ is: "refused", refusal })

type Refusal = readonly [message: string, param: string] | undefined

const itemTypes: ReadonlySet<unknown> = new Set(["message", "function_call", "function_call_output", "item_reference"])

const itemRefusal = (item: JsonObject | undefined, at: string): Refusal => {
  if (item === undefined) return [`${at} is required`, at]
  return itemTypes.has(item["type"]) ? undefined : ["Items of this type are not supported", `${at}.type`]
}

const inputRefusal = (response: JsonObject | undefined): Refusal =>
  objectsAt(response, "input").reduce<Refusal>((found, item) => found ?? itemRefusal(item, "response.input"), undefined)

/** The fields that a session and a single response share. */
const configRefusal = (config: JsonObject | undefined, at: string, limits: SessionLimits): Refusal => {
  if (config === undefined) return undefined
  const tools = config["tools"]
  if (tools !== undefined && tools !== null) {
    if (!Array.isArray(tools)) return ["tools must be an array", `${at}.tools`]
    if (tools.length > 0 && !limits.hasTools) return ["This model does not support tools", `${at}.tools`]
    if (!tools.every((tool) => isObject(tool) && tool["type"] === "function")) {
      return ["Only tools of the type function are supported", `${at}.tools`]
    }
  }
  const prompt = config["prompt"]
  if (prompt !== undefined && prompt !== null) return ["Stored prompts are not supported", `${at}.prompt`]
  for (const name of maxOutNames) {
    const most = config[name]
    if (most === undefined || most === null || most === "inf") continue
    if (typeof most !== "number" || !Number.isInteger(most) || most < 1 || most > limits.maxOutTokens) {
      return [`${name} must be from 1 to ${limits.maxOutTokens}, or "inf"`, `${at}.${name}`]
    }
  }
  return undefined
}

const sessionRefusal = (session: JsonObject, { models, transcriptUnits }: SessionLimits): Refusal => {
  const { type, model } = session
  if (type !== undefined && type !== "realtime")
    return ["Only sessions of the type realtime are supported", "session.type"]
  if (model !== undefined && !models.some((name) => name === model)) {
    return ["The model of a session cannot be changed", "session.model"]
  }
  for (const [at, transcription] of transcriptionsOf(session)) {
    const name = stringAt(transcription, "model") ?? ""
    const billedBy = unitsOfTranscripts(name)
    if (billedBy.length === 0 || billedBy.some((unit) => transcriptUnits.includes(unit))) continue
    const by = name === "" ? "" : ` by ${name.slice(0, mostNameCharacters)}`
    return [
      `This model has no price for transcripts${by}, which are billed by ${billedBy.join(" or ")}`,
      `session.${at}`,
    ]
  }
  return undefined
}

const mostNameCharacters = 64

/**
 * The units by which a model's transcripts are billed; none if they are part of the session's price. An unknown name, such as
 * one of a deployment, may be billed by either unit. Source: OpenAI API pricing, "Transcription and speech"; xAI API
 * reference, "Voice Agent API", which bills by the minute.
 */
const unitsOfTranscripts = (model: string): ReadonlyArray<TranscriptUnit> => {
  if (model.startsWith("gpt-4o")) return ["tokens"]
  if (model.startsWith("grok-")) return []
  return model.includes("whisper") || model.startsWith("gpt-live-") ? ["seconds"] : ["seconds", "tokens"]
}

/** The names of the limit: of today's API, and of the preview. */
const maxOutNames = ["max_output_tokens", "max_response_output_tokens"]

const maxOutOf = (config: JsonObject | undefined): number | undefined => {
  for (const name of maxOutNames) {
    const most = config?.[name]
    if (most === "inf") return Number.POSITIVE_INFINITY
    if (typeof most === "number") return most
  }
  return undefined
}

/** The texts of a session's or a response's configuration: instructions, tools, and the prompt of a transcription. */
const configWords = (config: JsonObject | undefined): ReadonlyArray<string> => {
  const tools = objectsAt(config, "tools")
  return [
    stringAt(config, "instructions"),
    tools.length === 0 ? undefined : JSON.stringify(tools),
    ...transcriptionsOf(config).map(([, transcription]) => stringAt(transcription, "prompt")),
  ].flatMap((text) => text || [])
}

/** The configurations of transcripts of the input, in the form of today's API and of the preview. */
const transcriptionsOf = (config: JsonObject | undefined): ReadonlyArray<readonly [at: string, JsonObject]> => {
  const today = objectAt(objectAt(objectAt(config, "audio"), "input"), "transcription")
  const preview = objectAt(config, "input_audio_transcription")
  return [
    ...(today === undefined ? [] : [["audio.input.transcription", today] as const]),
    ...(preview === undefined ? [] : [["input_audio_transcription", preview] as const]),
  ]
}

/** The amounts that items and texts of a configuration add. */
const addedBy = (items: ReadonlyArray<JsonObject>, configured: ReadonlyArray<string> = []): Added => {
  const texts: Array<Added["texts"][number]> = configured.map((text) => ["text", text])
  const add = (part: ReviewedPart, text: string | undefined) => {
    if (text !== undefined) texts.push([part, text])
  }
  let audioBytes = 0
  let images = 0
  for (const item of items) {
    add("toolResults", stringAt(item, "output"))
    add("toolArguments", stringAt(item, "arguments"))
    for (const part of objectsAt(item, "content")) {
      add("text", stringAt(part, "text"))
      add("text", stringAt(part, "transcript"))
      audioBytes += bytesOfBase64(stringAt(part, "audio")?.length ?? 0)
      if (stringAt(part, "image_url") !== undefined) images++
    }
  }
  const textBytes = texts.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0)
  return { audioBytes, textBytes, images, texts }
}
