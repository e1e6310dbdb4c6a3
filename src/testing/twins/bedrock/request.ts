/** The body of Converse. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
import { Schema } from "effect"
import { AnyObject, between, maybe, Positive } from "../shape.ts"

const Source = Schema.Struct({ bytes: maybe(Schema.String), s3Location: maybe(AnyObject) })
const Text = Schema.Struct({ text: Schema.String })
const CachePoint = Schema.Struct({
  cachePoint: Schema.Struct({ type: Schema.Literal("default"), ttl: maybe(Schema.Literals(["5m", "1h"])) }),
})
const Image = Schema.Struct({
  image: Schema.Struct({ format: Schema.Literals(["png", "jpeg", "gif", "webp"]), source: Source }),
})
const Document = Schema.Struct({
  document: Schema.Struct({
    format: maybe(Schema.Literals(["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"])),
    name: Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9 ()[\]-]{1,200}$/)),
    source: Schema.Struct({ ...Source.fields, text: maybe(Schema.String), content: maybe(Schema.Array(AnyObject)) }),
    context: maybe(Schema.String),
    citations: maybe(AnyObject),
  }),
})
const Video = Schema.Struct({ video: Schema.Struct({ format: Schema.String, source: Source }) })

const CallId = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_.:-]{1,64}$/))

const Block = Schema.Union([
  Text,
  Image,
  Document,
  Video,
  CachePoint,
  Schema.Struct({ toolUse: Schema.Struct({ toolUseId: CallId, name: Schema.String, input: AnyObject }) }),
  Schema.Struct({
    toolResult: Schema.Struct({
      toolUseId: CallId,
      content: Schema.Array(Schema.Union([Text, Schema.Struct({ json: Schema.Unknown }), Image, Document, Video])),
      status: maybe(Schema.Literals(["success", "error"])),
    }),
  }),
  Schema.Struct({
    reasoningContent: Schema.Union([
      Schema.Struct({ reasoningText: Schema.Struct({ text: Schema.String, signature: maybe(Schema.String) }) }),
      Schema.Struct({ redactedContent: Schema.String }),
    ]),
  }),
  Schema.Struct({ guardContent: AnyObject }),
])

const Tool = Schema.Union([
  Schema.Struct({
    toolSpec: Schema.Struct({
      name: Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]{1,64}$/)),
      description: maybe(Schema.String.check(Schema.isMinLength(1))),
      inputSchema: Schema.Struct({ json: AnyObject }),
      strict: maybe(Schema.Boolean),
    }),
  }),
  CachePoint,
  Schema.Struct({ systemTool: AnyObject }),
])

export const ConverseBody = Schema.Struct({
  messages: maybe(
    Schema.Array(Schema.Struct({ role: Schema.Literals(["user", "assistant"]), content: Schema.Array(Block) })),
  ),
  system: maybe(Schema.Array(Schema.Union([Text, CachePoint, Schema.Struct({ guardContent: AnyObject })]))),
  inferenceConfig: maybe(
    Schema.Struct({
      maxTokens: maybe(Positive),
      temperature: maybe(between(0, 1)),
      topP: maybe(between(0, 1)),
      stopSequences: maybe(Schema.Array(Schema.String)),
    }),
  ),
  toolConfig: maybe(
    Schema.Struct({
      tools: Schema.Array(Tool).check(Schema.isMinLength(1)),
      toolChoice: maybe(
        Schema.Union([
          Schema.Struct({ auto: Schema.Struct({}) }),
          Schema.Struct({ any: Schema.Struct({}) }),
          Schema.Struct({ tool: Schema.Struct({ name: Schema.String }) }),
        ]),
      ),
    }),
  ),
  additionalModelRequestFields: maybe(AnyObject),
  additionalModelResponseFieldPaths: maybe(Schema.Array(Schema.String)),
  guardrailConfig: maybe(AnyObject),
  outputConfig: maybe(AnyObject),
  performanceConfig: maybe(AnyObject),
  promptVariables: maybe(AnyObject),
  requestMetadata: maybe(AnyObject),
  serviceTier: maybe(Schema.Struct({ type: Schema.String })),
})
