/**
 * Gemini's generateContent as clients send it. Source: https://ai.google.dev/api/generate-content. The model and whether
 * the reply is streamed are in the path.
 */

import type { Result } from "effect"
import type { ReasoningLevel } from "../../protocol/exchange.ts"
import { endUsersAt, ownRequest } from "../carry/own-request.ts"
import type { ClientRequest, RequestPlace } from "../client/client-api.ts"
import { logprobsOf, onlyAllowed, stopsOf, tierOf, unless } from "../client/client-parts.ts"
import {
  all,
  carried,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  own,
  present,
  presentIfAny,
  refused,
  withoutEffect,
} from "../client/fields.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import { camel, GenerateReader, nameIn } from "./client-reader.ts"
import { jsonSchemaOf, toolChoiceOf, toolsOf } from "./client-tools.ts"
import { contentFields, systemOf, Turns } from "./client-turns.ts"

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

const thinkingFields: FieldTable = all(carried, "thinkingBudget", "thinkingLevel", "includeThoughts")

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
  return reader.carriedResult({ exchange, context: { model, includesUsage: true }, own })
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
