/**
 * Gemini's generateContent as clients send it. Source: https://ai.google.dev/api/generate-content. The model and whether
 * the reply is streamed are in the path.
 */
import type { Result } from "effect"
import type { Detail } from "../../protocol/block.ts"
import type { ReasoningLevel } from "../../protocol/exchange.ts"
import type { ClientRequest, RequestPlace } from "../client-api.ts"
import {
  type ClientToolChoice,
  HostedTools,
  logprobsOf,
  noArguments,
  nonEmptyText,
  onlyAllowed,
  plainBase64,
  stopsOf,
  textBlock,
  tierOf,
  unless,
} from "../client-parts.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  own,
  present,
  presentIfAny,
  refused,
  withoutEffect,
} from "../fields.ts"
import { isObject, type JsonObject } from "../json.ts"
import { endUsersAt, ownRequest } from "../own-request.ts"
import { resultOf } from "../results.ts"
import { geminiBypass, signatureFor, signatureFromGemini } from "../signature.ts"
import { isGeminiOwn, sealedBlock } from "../vendor-blocks.ts"
import { clientToolOf } from "../vendor-tools.ts"

export const generateFields: FieldTable = {
  ...all(
    carried,
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "serviceTier",
    "cachedContent",
  ),
  labels: withoutEffect("it labels a request for its vendor"),
  safetySettings: withoutEffect("the platform's policies review an exchange"),
  model: withoutEffect("the path names the model"),
  store: own(false),
}

export const generationFields: FieldTable = {
  ...all(
    carried,
    "maxOutputTokens",
    "temperature",
    "topP",
    "stopSequences",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "thinkingConfig",
    "candidateCount",
    "presencePenalty",
    "frequencyPenalty",
    "responseLogprobs",
    "logprobs",
    "topK",
    "seed",
    "mediaResolution",
  ),
  responseModalities: neutral(["TEXT"]),
  audioTimestamp: own(false),
  enableEnhancedCivicAnswers: own(false),
  ...all(
    refused("replies are text"),
    "speechConfig",
    "imageConfig",
    "audioTranscriptionConfig",
    "generationOutputConfig",
  ),
  ...all(refused("targets of a model are the catalogue's"), "routingConfig", "modelSelectionConfig"),
  modelArmorConfig: refused("the platform's policies review an exchange"),
}

const partFields: FieldTable = {
  ...all(carried, "text", "thought", "thoughtSignature", "inlineData", "fileData", "functionCall", "functionResponse"),
  ...all(carried, "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "videoMetadata"),
  mediaResolution: carried,
}

/** Reads objects whose names come in both spellings, and refuses one name in both. */
class GenerateReader extends FieldReader {
  fields(value: unknown, path: string): JsonObject {
    const sent = this.object(value, path)
    const read = camel(sent)
    if (Object.keys(read).length < Object.keys(sent).length) this.refuse(path, "names a field in both spellings")
    return read
  }

  /** The same of an object whose fields are in a table. */
  checkedFields(table: FieldTable, value: unknown, path: string): JsonObject {
    const read = this.fields(value, path)
    this.check(table, read, path)
    return read
  }
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
const thinkingFields: FieldTable = all(carried, "thinkingBudget", "thinkingLevel", "includeThoughts")
const choiceFields = all(carried, "mode", "allowedFunctionNames")
const toolConfigFields: FieldTable = {
  functionCallingConfig: carried,
  ...all(
    withoutEffect("tools that a vendor would host are left out, and told in x-svc-warning"),
    "retrievalConfig",
    "includeServerSideToolInvocations",
  ),
}
const clipFields = all(carried, "startOffset", "endOffset", "fps")
const contentFields = all(carried, "role", "parts")

export const decodeGenerateRequest = (
  sent: JsonObject,
  { model, stream, counts }: RequestPlace,
): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new GenerateReader()
  const body = counts ? countedOf(reader.fields(sent, "")) : reader.fields(sent, "")
  reader.check(generateFields, body, "")
  const config = isAbsent(body["generationConfig"]) ? {} : reader.fields(body["generationConfig"], "generationConfig")
  reader.check(generationFields, config, "generationConfig")
  const { tools: offered, hosted } = toolsOf(reader, body["tools"])
  const { omittedTools, search } = hosted
  const choice = toolChoiceOf(reader, body["toolConfig"])
  const tools = onlyAllowed(offered, choice.allowed)
  const system = systemOf(reader, body["systemInstruction"])
  const turns = new Turns(reader)
  const thread = reader
    .list(body["contents"], "contents")
    .flatMap((content, index) =>
      turns.decode(reader.checked(contentFields, content, `contents.${index}`), `contents.${index}`),
    )
  const hasTools = tools.length > 0
  const exchange = present({
    model,
    thread: system.length === 0 ? thread : [{ role: "system", blocks: system }, ...thread],
    tools: hasTools ? tools : undefined,
    params: presentIfAny({
      maxTokens: config["maxOutputTokens"],
      temperature: config["temperature"],
      topP: config["topP"],
      stop: stopsOf(config["stopSequences"]),
      toolChoice: hasTools ? choice.toolChoice : undefined,
      ...reasoningOf(reader, config["thinkingConfig"]),
      output: outputOf(reader, config, sent),
      ...extrasOf(reader, body, config),
    }),
    stream,
  })
  const own = ownRequest(reader, endUsersAt(sent), { hosted, listed: body["tools"] }, { unsigned: turns.unsigned })
  return reader.carriedResult({ exchange, context: { model, includesUsage: true }, omittedTools, search, own })
}

const extrasOf = (reader: GenerateReader, body: JsonObject, config: JsonObject): JsonObject => ({
  seed: config["seed"],
  frequencyPenalty: unless(config["frequencyPenalty"], 0),
  presencePenalty: unless(config["presencePenalty"], 0),
  topK: config["topK"],
  logprobs: logprobsOf(reader, config["responseLogprobs"], config["logprobs"], {
    asked: "generationConfig.responseLogprobs",
    top: "generationConfig.logprobs",
  }),
  n: unless(config["candidateCount"], 1),
  serviceTier: tierOf(body["serviceTier"]),
  vendorOptions: presentIfAny({
    gemini: presentIfAny({
      cachedContent: body["cachedContent"],
      mediaResolution: unless(config["mediaResolution"], "MEDIA_RESOLUTION_UNSPECIFIED"),
    }),
  }),
})

/** A count may be asked of a whole request. */
const countedOf = (body: JsonObject): JsonObject =>
  isObject(body["generateContentRequest"]) ? camel(body["generateContentRequest"]) : body

/** A field's name as it was sent. */
export const nameIn = (value: unknown, name: string): string =>
  (isObject(value) ? Object.keys(value).find((sent) => camelName(sent) === name) : undefined) ?? name

const camelName = (name: string): string => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())

/** Google reads names in both spellings. */
const camel = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([name, field]) => [camelName(name), field]))

const levels: Readonly<Record<string, ReasoningLevel>> = {
  MINIMAL: "minimal",
  LOW: "low",
  MEDIUM: "medium",
  HIGH: "high",
}

const reasoningOf = (reader: GenerateReader, value: unknown): JsonObject => {
  if (isAbsent(value)) return {}
  const config = reader.checkedFields(thinkingFields, value, "generationConfig.thinkingConfig")
  const { thinkingBudget: budget, thinkingLevel: level, includeThoughts } = config
  const reasoningDisplay = typeof includeThoughts === "boolean" ? (includeThoughts ? "summary" : "omitted") : undefined
  const word = typeof level === "string" ? level.toUpperCase() : level
  const reasoning = reader.word(levels, word, "generationConfig.thinkingConfig.thinkingLevel")
  // -1 leaves the budget to the model.
  if (isAbsent(budget) || budget === -1) return { reasoning, reasoningDisplay }
  return { reasoning, reasoningBudget: budget, reasoningDisplay }
}

const outputOf = (reader: GenerateReader, config: JsonObject, sent: JsonObject): JsonObject | "json" | undefined => {
  const { responseMimeType: mime, responseSchema, responseJsonSchema } = config
  if (isAbsent(mime) || mime === "text/plain") return undefined
  if (mime !== "application/json")
    reader.lacks("generationConfig.responseMimeType", "must be text/plain or application/json")
  if (isAbsent(responseJsonSchema)) {
    return isAbsent(responseSchema) ? "json" : { schema: jsonSchemaOf(responseSchema), strict: true }
  }
  const name = nameIn(sent, "generationConfig")
  const path = `${name}.${nameIn(sent[name], "responseJsonSchema")}`
  return { schema: reader.exactly(responseJsonSchema, path), strict: true }
}

/** Google's schemas are OpenAPI's, with types in capitals. */
const jsonSchemaOf = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(jsonSchemaOf)
  if (!isObject(schema)) return schema
  const { nullable, type, ...rest } = schema
  const lower = typeof type === "string" ? type.toLowerCase() : type
  return {
    ...(lower !== undefined && { type: nullable === true ? [lower, "null"] : lower }),
    ...Object.fromEntries(
      Object.entries(rest)
        .filter(([name]) => name !== "propertyOrdering")
        .map(([name, value]) => [name, name === "enum" || name === "default" ? value : jsonSchemaOf(value)]),
    ),
  }
}

const systemOf = (reader: GenerateReader, value: unknown): ReadonlyArray<JsonObject> => {
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

const declarationFields: FieldTable = {
  ...all(carried, "name", "description", "parameters", "parametersJsonSchema"),
  ...all(withoutEffect("results are the client's"), "response", "responseJsonSchema"),
  behavior: own("BLOCKING", "UNSPECIFIED"),
}

const toolsOf = (reader: GenerateReader, value: unknown) => {
  const tools: Array<JsonObject> = []
  const hosted = new HostedTools()
  // One tool may come without its list.
  const listed = isObject(value) ? [value] : reader.optionalList(value, "tools")
  for (const [index, item] of listed.entries()) {
    const { functionDeclarations, ...others } = reader.fields(item, `tools.${index}`)
    const [first, ...more] = Object.entries(others)
    if (first !== undefined) {
      // A tool of one kind is taken out whole.
      const isAlone = more.length === 0 && isAbsent(functionDeclarations)
      for (const [type, options] of [first, ...more]) {
        const at = isAlone ? ["tools", index] : ["tools", index, nameIn(item, type)]
        const own = clientToolOf("gemini", type, { [type]: options })
        if (own !== undefined) tools.push(own)
        else hosted.add(type, isObject(options) ? options : {}, at)
      }
    }
    const path = `tools.${index}.functionDeclarations`
    const place = `${isObject(value) ? "tools" : `tools.${index}`}.${nameIn(item, "functionDeclarations")}`
    const declared = reader.optionalList(functionDeclarations, path)
    for (const [at, declaration] of declared.entries()) {
      const tool = reader.fields(declaration, `${path}.${at}`)
      reader.check(declarationFields, tool, `${path}.${at}`)
      const { name, description, parameters, parametersJsonSchema } = tool
      const inputSchema = isAbsent(parametersJsonSchema)
        ? (jsonSchemaOf(parameters) ?? noArguments)
        : reader.exactly(parametersJsonSchema, `${place}.${at}.${nameIn(declaration, "parametersJsonSchema")}`)
      tools.push(present({ name, description, inputSchema }))
    }
  }
  return { tools, hosted }
}

const toolChoiceOf = (reader: GenerateReader, value: unknown): ClientToolChoice => {
  if (isAbsent(value)) return { toolChoice: undefined }
  const config = reader.checkedFields(toolConfigFields, value, "toolConfig")["functionCallingConfig"]
  if (isAbsent(config)) return { toolChoice: undefined }
  const path = "toolConfig.functionCallingConfig"
  const { mode, allowedFunctionNames: allowed } = reader.checkedFields(choiceFields, config, path)
  const names = Array.isArray(allowed) ? allowed : []
  if (names.length === 1 && mode === "ANY") return { toolChoice: { name: names[0] } }
  const words = { AUTO: "auto", NONE: "none", ANY: "required", VALIDATED: "auto", MODE_UNSPECIFIED: "auto" }
  return { toolChoice: reader.word(words, mode, `${path}.mode`), ...(names.length > 0 && { allowed: names }) }
}

/** Decodes turns in order: results without an id belong to the first unanswered call of their name. */
class Turns {
  readonly #reader: GenerateReader
  readonly #unanswered: Array<{ readonly id: string; readonly name: string }> = []
  #calls = 0
  /** Whether the step has called something; contents of the model that follow each other are one step. */
  #hasCalled = false
  /** Places of signatures that Gemini needs, and did not give: on the first call of each step. */
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
      this.#part(this.#reader.object(part, at), at, blocks)
    }
    return blocks.length === 0 ? [] : [{ role, blocks }]
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

  /** @param place of its arguments in the body */
  #call({ id, name, args }: JsonObject, path: string, place: string): JsonObject {
    const called = this.#reader.string(name, `${path}.functionCall.name`)
    const callId = typeof id === "string" && id !== "" ? id : `call_${this.#calls}`
    this.#calls++
    this.#unanswered.push({ id: callId, name: called })
    return { t: "tool_call", id: callId, name: called, input: isAbsent(args) ? {} : this.#reader.exactly(args, place) }
  }

  /** @param path of the result, as it was sent */
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
      const { inlineData } = this.#reader.checkedFields({ inlineData: carried }, part, at)
      const sent = this.#reader.checkedFields(inResultFields, inlineData, `${at}.inlineData`)
      const { mimeType: mime, data, displayName: name } = sent
      const t = mediaType(mime)
      if (t === "video") this.#reader.lacks(`${at}.inlineData.mimeType`, "must be of a picture, a file or sound")
      return present({ t, mime, data: plainBase64(data), name: t === "file" ? name : undefined })
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

  /** How closely a picture is looked at, and what is looked at of a video. */
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

  /** What is looked at of a video. */
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

  /** `12.5s` */
  #seconds(offset: unknown, path: string): number | undefined {
    if (isAbsent(offset)) return undefined
    const [, seconds] = /^(\d{1,7}(?:\.\d{1,9})?)s$/.exec(String(offset)) ?? []
    if (seconds === undefined) this.#reader.refuse(path, "must be seconds, such as 12.5s")
    return Number(seconds)
  }
}

/** Between low and high there is no word. */
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
