/** The body of generateContent, each field at every depth. Source: https://ai.google.dev/api/generate-content */
import { Schema } from "effect"
import { isObject } from "../../../dialects/parse/json.ts"
import { AnyObject, between, maybe } from "../shape.ts"

const Int32 = Schema.Int.check(Schema.isBetween({ minimum: -2_147_483_648, maximum: 2_147_483_647 }))
const Data = Schema.Struct({ mimeType: Schema.String, data: Schema.String, displayName: maybe(Schema.String) })
const FileData = Schema.Struct({
  fileUri: Schema.String,
  mimeType: maybe(Schema.String),
  displayName: maybe(Schema.String),
})

const Part = Schema.Struct({
  text: maybe(Schema.String),
  thought: maybe(Schema.Boolean),
  thoughtSignature: maybe(Schema.String),
  inlineData: maybe(Data),
  fileData: maybe(FileData),
  functionCall: maybe(Schema.Struct({ id: maybe(Schema.String), name: Schema.String, args: maybe(AnyObject) })),
  functionResponse: maybe(
    Schema.Struct({
      id: maybe(Schema.String),
      name: Schema.String,
      response: AnyObject,
      parts: maybe(Schema.Array(Schema.Struct({ inlineData: maybe(Data), fileData: maybe(FileData) }))),
      scheduling: maybe(Schema.String),
      willContinue: maybe(Schema.Boolean),
    }),
  ),
  videoMetadata: maybe(
    Schema.Struct({
      startOffset: maybe(Schema.String),
      endOffset: maybe(Schema.String),
      fps: maybe(Schema.Finite),
    }),
  ),
  executableCode: maybe(AnyObject),
  codeExecutionResult: maybe(AnyObject),
  toolCall: maybe(AnyObject),
  toolResponse: maybe(AnyObject),
  mediaResolution: maybe(AnyObject),
  partMetadata: maybe(AnyObject),
})

const Content = Schema.Struct({ role: maybe(Schema.String), parts: maybe(Schema.Array(Part)) })

const Declaration = Schema.Struct({
  name: Schema.String,
  description: maybe(Schema.String),
  behavior: maybe(Schema.String),
  parameters: maybe(AnyObject),
  parametersJsonSchema: maybe(AnyObject),
  response: maybe(AnyObject),
  responseJsonSchema: maybe(AnyObject),
})

const Tool = Schema.Struct({
  functionDeclarations: maybe(Schema.Array(Declaration)),
  googleSearch: maybe(AnyObject),
  googleSearchRetrieval: maybe(AnyObject),
  googleMaps: maybe(AnyObject),
  codeExecution: maybe(AnyObject),
  urlContext: maybe(AnyObject),
  computerUse: maybe(AnyObject),
  fileSearch: maybe(AnyObject),
  mcpServers: maybe(Schema.Array(AnyObject)),
})

const GenerationConfig = Schema.Struct({
  candidateCount: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 }))),
  enableEnhancedCivicAnswers: maybe(Schema.Boolean),
  frequencyPenalty: maybe(Schema.Finite),
  imageConfig: maybe(AnyObject),
  logprobs: maybe(Int32),
  maxOutputTokens: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_147_483_647 }))),
  mediaResolution: maybe(Schema.String),
  presencePenalty: maybe(Schema.Finite),
  responseJsonSchema: maybe(AnyObject),
  responseLogprobs: maybe(Schema.Boolean),
  responseMimeType: maybe(Schema.String),
  responseModalities: maybe(Schema.Array(Schema.String)),
  responseSchema: maybe(AnyObject),
  seed: maybe(Int32),
  speechConfig: maybe(AnyObject),
  stopSequences: maybe(Schema.Array(Schema.String)),
  temperature: maybe(between(0, 2)),
  thinkingConfig: maybe(
    Schema.Struct({
      includeThoughts: maybe(Schema.Boolean),
      thinkingBudget: maybe(Int32),
      thinkingLevel: maybe(Schema.String),
    }),
  ),
  topK: maybe(Schema.Finite),
  topP: maybe(between(0, 1)),
})

export const GenerateBody = Schema.Struct({
  contents: maybe(Schema.Array(Content)),
  systemInstruction: maybe(Content),
  tools: maybe(Schema.Array(Tool)),
  toolConfig: maybe(
    Schema.Struct({
      functionCallingConfig: maybe(
        Schema.Struct({
          mode: maybe(Schema.Literals(["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"])),
          allowedFunctionNames: maybe(Schema.Array(Schema.String)),
        }),
      ),
      retrievalConfig: maybe(AnyObject),
      includeServerSideToolInvocations: maybe(Schema.Boolean),
    }),
  ),
  safetySettings: maybe(
    Schema.Array(Schema.Struct({ category: Schema.String, threshold: Schema.String, method: maybe(Schema.String) })),
  ),
  generationConfig: maybe(GenerationConfig),
  cachedContent: maybe(Schema.String),
  serviceTier: maybe(Schema.String),
  store: maybe(Schema.Boolean),
  labels: maybe(Schema.Record(Schema.String, Schema.String)),
})

/** Members whose own members have the caller's names. */
const free = new Set([
  "args",
  "response",
  "parameters",
  "parametersJsonSchema",
  "responseJsonSchema",
  "responseSchema",
  "labels",
])

/** Google takes the names of members in two spellings; this one is `camelCase`. */
export const inCamelCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inCamelCase)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
      return [camel, free.has(camel) ? each : inCamelCase(each)]
    }),
  )
}
