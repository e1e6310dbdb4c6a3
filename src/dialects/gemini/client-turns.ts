/** The contents of a Gemini request as messages of twp/1. */
import type { Detail } from "../../protocol/block.ts"
import { nonEmptyText, plainBase64, textBlock } from "../client/client-parts.ts"
import { all, carried, type FieldTable, isAbsent, own, present, withoutEffect } from "../client/fields.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import { resultOf } from "../vendor/results.ts"
import { geminiBypass, signatureFor, signatureFromGemini } from "../vendor/signature.ts"
import { isGeminiOwn, sealedBlock } from "../vendor/vendor-blocks.ts"
import { type GenerateReader, nameIn } from "./client-reader.ts"

const partFields: FieldTable = {
  ...all(carried, "text", "thought", "thoughtSignature", "inlineData", "fileData", "functionCall", "functionResponse"),
  ...all(carried, "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "videoMetadata"),
  mediaResolution: carried,
}

const callFields: FieldTable = {
  ...all(carried, "id", "name", "args"),
  ...all(withoutEffect("calls of a thread are whole"), "partialArgs", "willContinue"),
}

const resultFields: FieldTable = {
  ...all(carried, "id", "name", "response", "parts"),
  ...all(own(), "willContinue", "scheduling"),
}

/** The response may name its parts. */
const inResultFields: FieldTable = all(carried, "mimeType", "data", "displayName")

const dataFields: FieldTable = { ...all(carried, "mimeType", "data"), displayName: own() }

const fileFields: FieldTable = { ...all(carried, "mimeType", "fileUri"), displayName: own() }

const clipFields = all(carried, "startOffset", "endOffset", "fps")

export const contentFields = all(carried, "role", "parts")

export const systemOf = (reader: GenerateReader, value: unknown): ReadonlyArray<JsonObject> => {
  if (isAbsent(value)) return []
  if (typeof value === "string") return nonEmptyText(value)
  const parts = reader.list(
    reader.checked(contentFields, value, "systemInstruction")["parts"],
    "systemInstruction.parts",
  )
  return parts.map((part, index) => {
    const path = `systemInstruction.parts.${index}`
    return textBlock(reader.string(reader.object(part, path)["text"], `${path}.text`))
  })
}

/** Decodes turns in order: results without an id belong to the first unanswered call of their name. */
export class Turns {
  readonly #reader: GenerateReader
  readonly #unanswered: Array<{ readonly id: string; readonly name: string }> = []
  #calls = 0
  /** Whether the step has called something; contents of the model that follow each other are one step. */
  #hasCalled = false
  /** The positions of signatures that Gemini requires and that the client did not send: on the first call of each step. */
  readonly unsigned: Array<string> = []

  constructor(reader: GenerateReader) {
    this.#reader = reader
  }

  decode(content: JsonObject, path: string): ReadonlyArray<JsonObject> {
    const role = this.#reader.word(
      { user: "user", model: "assistant", function: "user", tool: "user" },
      content["role"] ?? "user",
      `${path}.role`,
    )
    if (role !== "assistant") this.#hasCalled = false
    const parts = this.#reader.list(content["parts"], `${path}.parts`)
    const blocks: Array<JsonObject> = []
    for (const [index, part] of parts.entries()) {
      const at = `${path}.parts.${index}`
      const before = blocks.length
      this.#part(this.#reader.object(part, at), at, blocks)
      for (const block of blocks.slice(before)) this.#reader.placed(block, at)
    }
    return blocks.length === 0 ? [] : this.#reader.placedMessages([{ role, blocks }], path)
  }

  #part(sent: JsonObject, path: string, blocks: Array<JsonObject>): void {
    const reader = this.#reader
    const part = reader.fields(sent, path)
    reader.check(partFields, part, path)
    const { text, thought, thoughtSignature, functionCall, functionResponse, inlineData, fileData } = part
    const signature =
      isAbsent(thoughtSignature) || thoughtSignature === geminiBypass
        ? undefined
        : signatureFromGemini(reader.string(thoughtSignature, `${path}.thoughtSignature`))
    const isForeign = signature !== undefined && signatureFor("gemini", signature) === undefined
    const isFirstCall = !isAbsent(functionCall) && !this.#hasCalled
    if (isFirstCall) this.#hasCalled = true
    const place = `${path}.${nameIn(sent, "thoughtSignature")}`
    if (isFirstCall && (isForeign || isAbsent(thoughtSignature))) this.unsigned.push(place)
    else if (isForeign) reader.foreign.push(place)
    if (thought === true && !isAbsent(text)) {
      blocks.push({ t: "reasoning", v: text })
      if (signature !== undefined) signLast(blocks, signature)
      return
    }
    if (isGeminiOwn(part)) {
      blocks.push(reader.exactly(sealedBlock("gemini", part), path))
      return
    }
    // A signature belongs to the thoughts before its part.
    if (signature !== undefined) signLast(blocks, signature)
    if (!isAbsent(functionCall)) {
      const call = reader.checkedFields(callFields, functionCall, `${path}.functionCall`)
      blocks.push(this.#call(call, path, `${path}.${nameIn(sent, "functionCall")}.args`))
    } else if (!isAbsent(functionResponse)) {
      const result = reader.checkedFields(resultFields, functionResponse, `${path}.functionResponse`)
      blocks.push(this.#result(result, `${path}.${nameIn(sent, "functionResponse")}`))
    } else if (!isAbsent(inlineData)) {
      const { mimeType: mime, data } = reader.checkedFields(dataFields, inlineData, `${path}.inlineData`)
      blocks.push({ t: mediaType(mime), mime, data: plainBase64(data), ...this.#looks(part, mime, path) })
    } else if (!isAbsent(fileData)) {
      const file = this.#file(reader.checkedFields(fileFields, fileData, `${path}.fileData`), path)
      blocks.push({ ...file, ...this.#looks(part, file["mime"], path) })
    } else if (text !== "") blocks.push(textBlock(reader.string(text, `${path}.text`)))
  }

  /** @param place the position of its arguments in the body */
  #call({ id, name, args }: JsonObject, path: string, place: string): JsonObject {
    const called = this.#reader.string(name, `${path}.functionCall.name`)
    const callId = typeof id === "string" && id !== "" ? id : `call_${this.#calls}`
    this.#calls++
    this.#unanswered.push({ id: callId, name: called })
    return { t: "tool_call", id: callId, name: called, input: isAbsent(args) ? {} : this.#reader.exactly(args, place) }
  }

  /** @param path the path of the result, as it was sent */
  #result({ id, name, response, parts }: JsonObject, path: string): JsonObject {
    const at = this.#unanswered.findIndex((call) => (id ? call.id === id : call.name === name))
    const [call] = at === -1 ? [] : this.#unanswered.splice(at, 1)
    const { output, error, ...rest } = isObject(response) ? response : { output: response }
    const only = Object.keys(rest).length === 0
    const key = !only ? undefined : output !== undefined ? "output" : error !== undefined ? "error" : undefined
    const value = key === "output" ? output : key === "error" ? error : response
    const text = textBlock(typeof value === "string" ? value : JSON.stringify(value ?? {}))
    const result = {
      t: "tool_result",
      id: call?.id ?? (id || name),
      ...resultOf([text, ...this.#inResult(parts, `${path}.parts`)]),
      ...(key === "error" && { isError: true }),
    }
    if (typeof value === "string" || isAbsent(value)) return result
    const place = `${path}.response`
    return this.#reader.exactly(result, isObject(response) && key !== undefined ? `${place}.${key}` : place)
  }

  /** Pictures and files of a result; its text may name them. */
  #inResult(parts: unknown, path: string): ReadonlyArray<JsonObject> {
    return this.#reader.optionalList(parts, path).map((part, index) => {
      const at = `${path}.${index}`
      const { inlineData, fileData } = this.#reader.checkedFields(all(carried, "inlineData", "fileData"), part, at)
      if (!isAbsent(fileData)) {
        const file = this.#file(this.#reader.checkedFields(fileFields, fileData, `${at}.fileData`), at)
        return file["t"] === "video" ? { ...file, t: "file" } : file
      }
      const sent = this.#reader.checkedFields(inResultFields, inlineData, `${at}.inlineData`)
      const { mimeType: mime, data, displayName: name } = sent
      const t = mediaType(mime)
      if (t === "video") this.#reader.lacks(`${at}.inlineData.mimeType`, "must be of a picture, a file or sound")
      const isFile = t === "file" || t === "video"
      return present({ t: isFile ? "file" : t, mime, data: plainBase64(data), name: isFile ? name : undefined })
    })
  }

  #file({ fileUri: uri, mimeType }: JsonObject, path: string): JsonObject {
    const url = this.#reader.string(uri, `${path}.fileData.fileUri`)
    if (!/^https?:/.test(url)) {
      this.#reader.lacks(`${path}.fileData.fileUri`, "must be an http or https address")
      return { t: "file", mime: "application/pdf", url: "https://files.invalid/" }
    }
    const mime = typeof mimeType === "string" ? mimeType : "application/pdf"
    return { t: mediaType(mime), mime, url }
  }

  /** The detail of a picture, and the part of a video. */
  #looks(part: JsonObject, mime: unknown, path: string): JsonObject {
    const detail = this.#detail(part, path)
    return { ...this.#clip(part, path), ...(mediaType(mime) === "image" && present({ detail })) }
  }

  #detail({ mediaResolution }: JsonObject, path: string): Detail | undefined {
    if (isAbsent(mediaResolution)) return undefined
    const at = `${path}.mediaResolution`
    const { level } = this.#reader.checkedFields({ level: carried }, mediaResolution, at)
    return this.#reader.word(details, typeof level === "string" ? level.toUpperCase() : level, `${at}.level`)
  }

  /** The part of a video that the model sees. */
  #clip({ videoMetadata }: JsonObject, path: string): JsonObject {
    if (isAbsent(videoMetadata)) return {}
    const at = `${path}.videoMetadata`
    const { startOffset, endOffset, fps } = this.#reader.checkedFields(clipFields, videoMetadata, at)
    const clip = present({
      from: this.#seconds(startOffset, `${at}.startOffset`),
      to: this.#seconds(endOffset, `${at}.endOffset`),
      fps,
    })
    return { clip }
  }

  /** A duration such as `12.5s`. */
  #seconds(offset: unknown, path: string): number | undefined {
    if (isAbsent(offset)) return undefined
    const [, seconds] = /^(\d{1,7}(?:\.\d{1,9})?)s$/.exec(String(offset)) ?? []
    if (seconds === undefined) this.#reader.refuse(path, "must be seconds, such as 12.5s")
    return Number(seconds)
  }
}

/** There is no value between low and high. */
const details: Readonly<Record<string, Detail>> = {
  MEDIA_RESOLUTION_UNSPECIFIED: "auto",
  MEDIA_RESOLUTION_LOW: "low",
  MEDIA_RESOLUTION_MEDIUM: "auto",
  MEDIA_RESOLUTION_HIGH: "high",
  MEDIA_RESOLUTION_ULTRA_HIGH: "original",
}

/** The kind of block for a MIME type. */
const mediaType = (mime: unknown): "image" | "video" | "audio" | "file" => {
  const [kind] = typeof mime === "string" ? mime.split("/") : []
  return kind === "image" || kind === "video" || kind === "audio" ? kind : "file"
}

const signLast = (blocks: Array<JsonObject>, signature: string): void => {
  const last = blocks.at(-1)
  if (last?.["t"] === "reasoning" && last["signature"] === undefined) blocks[blocks.length - 1] = { ...last, signature }
  else blocks.push({ t: "reasoning", v: "", signature })
}
