/** The body of Cohere's chat, each field at every depth. Source: https://docs.cohere.com/reference/chat */
import { Schema } from "effect"
import { AnyObject, between, maybe, nullable, Positive } from "../shape.ts"

const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
const Thinking = Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String })
const Image = Schema.Struct({
  type: Schema.Literal("image_url"),
  image_url: Schema.Struct({ url: Schema.String, detail: maybe(Schema.Literals(["auto", "low", "high"])) }),
})
const Document = Schema.Struct({ type: Schema.Literal("document"), document: AnyObject })

const Call = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String }),
})

const Message = Schema.Union([
  Schema.Struct({
    role: Schema.Literal("system"),
    content: Schema.Union([Schema.String, Schema.Array(Text)]),
  }),
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, Image]))]),
  }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: maybe(Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, Thinking]))])),
    tool_calls: maybe(Schema.Array(Call)),
    tool_plan: maybe(Schema.String),
    citations: maybe(Schema.Array(AnyObject)),
  }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    tool_call_id: Schema.String,
    content: Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, Document]))]),
  }),
])

const Tool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Schema.String, description: maybe(Schema.String), parameters: AnyObject }),
})

export const ChatBody = Schema.Struct({
  model: Schema.String,
  messages: Schema.Array(Message),
  stream: maybe(Schema.Boolean),
  tools: nullable(Schema.Array(Tool)),
  strict_tools: nullable(Schema.Boolean),
  documents: nullable(Schema.Array(Schema.Unknown)),
  citation_options: nullable(AnyObject),
  response_format: nullable(
    Schema.Union([
      Schema.Struct({ type: Schema.Literal("text") }),
      Schema.Struct({ type: Schema.Literal("json_object"), json_schema: maybe(AnyObject) }),
    ]),
  ),
  safety_mode: nullable(Schema.Literals(["CONTEXTUAL", "STRICT", "OFF"])),
  max_tokens: nullable(Positive),
  stop_sequences: nullable(Schema.Array(Schema.String)),
  temperature: nullable(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  seed: nullable(Schema.Int),
  frequency_penalty: nullable(between(0, 1)),
  presence_penalty: nullable(between(0, 1)),
  k: nullable(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 500 }))),
  p: nullable(between(0.01, 0.99)),
  logprobs: nullable(Schema.Boolean),
  tool_choice: nullable(Schema.Literals(["REQUIRED", "NONE"])),
  thinking: nullable(Schema.Struct({ type: Schema.Literals(["enabled", "disabled"]), token_budget: maybe(Positive) })),
  priority: nullable(Schema.Int),
})
