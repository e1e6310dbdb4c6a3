/** The body of chat completions, each field at every depth. Source: https://platform.openai.com/docs/api-reference/chat/create */
import { Schema } from "effect"
import { AnyObject, between, maybe, nullable, Positive } from "../shape.ts"

const breakpoint = { prompt_cache_breakpoint: maybe(AnyObject) }

const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, ...breakpoint })
const Refusal = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })

const Part = Schema.Union([
  Text,
  Schema.Struct({
    type: Schema.Literal("image_url"),
    image_url: Schema.Struct({
      url: Schema.String,
      detail: maybe(Schema.Literals(["auto", "low", "high", "original"])),
    }),
    ...breakpoint,
  }),
  Schema.Struct({
    type: Schema.Literal("input_audio"),
    input_audio: Schema.Struct({ data: Schema.String, format: Schema.Literals(["wav", "mp3"]) }),
    ...breakpoint,
  }),
  Schema.Struct({
    type: Schema.Literal("file"),
    file: Schema.Struct({
      file_data: maybe(Schema.String),
      file_id: maybe(Schema.String),
      filename: maybe(Schema.String),
    }),
    ...breakpoint,
  }),
])

const TextContent = Schema.Union([Schema.String, Schema.Array(Text)])
const name = { name: maybe(Schema.String) }

const Call = Schema.Union([
  Schema.Struct({
    id: Schema.String,
    type: Schema.Literal("function"),
    function: Schema.Struct({ name: Schema.String, arguments: Schema.String }),
  }),
  Schema.Struct({
    id: Schema.String,
    type: Schema.Literal("custom"),
    custom: Schema.Struct({ name: Schema.String, input: Schema.String }),
  }),
])

const assistant = {
  role: Schema.Literal("assistant"),
  content: nullable(Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, Refusal]))])),
  refusal: nullable(Schema.String),
  audio: nullable(Schema.Struct({ id: Schema.String })),
  function_call: nullable(AnyObject),
  tool_calls: maybe(Schema.Array(Call)),
  ...name,
}

/** @param more fields of a vendor's own in what a model said @param parts of what a user says */
const messageWith = <Fields extends Schema.Struct.Fields>(more: Fields, parts: Schema.Decoder<unknown> = Part) =>
  Schema.Union([
    Schema.Struct({ role: Schema.Literals(["system", "developer"]), content: TextContent, ...name }),
    Schema.Struct({
      role: Schema.Literal("user"),
      content: Schema.Union([Schema.String, Schema.Array(parts)]),
      ...name,
    }),
    Schema.Struct({ ...assistant, ...more }),
    Schema.Struct({ role: Schema.Literal("tool"), content: TextContent, tool_call_id: Schema.String }),
  ])

const FunctionName = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]{1,64}$/))

const Tool = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("function"),
    function: Schema.Struct({
      name: FunctionName,
      description: maybe(Schema.String),
      parameters: maybe(AnyObject),
      strict: nullable(Schema.Boolean),
    }),
  }),
  Schema.Struct({
    type: Schema.Literal("custom"),
    custom: Schema.Struct({
      name: FunctionName,
      description: maybe(Schema.String),
      format: maybe(AnyObject),
    }),
  }),
])

const ToolChoice = Schema.Union([
  Schema.Literals(["none", "auto", "required"]),
  Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct({ name: Schema.String }) }),
  Schema.Struct({ type: Schema.Literal("custom"), custom: Schema.Struct({ name: Schema.String }) }),
  Schema.Struct({ type: Schema.Literal("allowed_tools"), allowed_tools: AnyObject }),
])

const ResponseFormat = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    json_schema: Schema.Struct({
      name: FunctionName,
      description: maybe(Schema.String),
      schema: maybe(AnyObject),
      strict: nullable(Schema.Boolean),
    }),
  }),
])

const Efforts = Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"])

/** Fields that all vendors have with this API. */
const common = {
  model: Schema.String,
  temperature: nullable(between(0, 2)),
  top_p: nullable(between(0, 1)),
  stop: nullable(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  stream: nullable(Schema.Boolean),
  stream_options: nullable(
    Schema.Struct({ include_usage: maybe(Schema.Boolean), include_obfuscation: maybe(Schema.Boolean) }),
  ),
  tools: maybe(Schema.Array(Tool)),
  tool_choice: maybe(ToolChoice),
  parallel_tool_calls: maybe(Schema.Boolean),
  response_format: maybe(ResponseFormat),
  frequency_penalty: nullable(between(-2, 2)),
  presence_penalty: nullable(between(-2, 2)),
  n: nullable(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 128 }))),
  seed: nullable(Schema.Int),
  logprobs: nullable(Schema.Boolean),
  top_logprobs: nullable(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))),
  user: maybe(Schema.String),
}

export const ChatBody = Schema.Struct({
  ...common,
  messages: Schema.Array(messageWith({})),
  audio: nullable(AnyObject),
  function_call: maybe(Schema.Unknown),
  functions: maybe(Schema.Array(AnyObject)),
  logit_bias: nullable(Schema.Record(Schema.String, between(-100, 100))),
  max_completion_tokens: nullable(Positive),
  max_tokens: nullable(Positive),
  metadata: nullable(Schema.Record(Schema.String, Schema.String)),
  modalities: nullable(Schema.Array(Schema.Literals(["text", "audio"]))),
  moderation: nullable(AnyObject),
  prediction: nullable(Schema.Struct({ type: Schema.Literal("content"), content: TextContent })),
  prompt_cache_key: nullable(Schema.String),
  prompt_cache_options: maybe(AnyObject),
  prompt_cache_retention: nullable(Schema.Literals(["in_memory", "24h"])),
  reasoning_effort: nullable(Efforts),
  safety_identifier: nullable(Schema.String),
  service_tier: nullable(Schema.Literals(["auto", "default", "flex", "scale", "priority", "fast"])),
  store: nullable(Schema.Boolean),
  verbosity: nullable(Schema.Literals(["low", "medium", "high"])),
  web_search_options: maybe(AnyObject),
})

const switches = { type: Schema.Literals(["enabled", "disabled"]) }
const returned = { reasoning_content: nullable(Schema.String) }

const Video = Schema.Struct({ type: Schema.Literal("video_url"), video_url: Schema.Struct({ url: Schema.String }) })

/** A server that has every parameter, such as vLLM: https://docs.vllm.ai/en/latest/serving/openai_compatible_server */
export const GenericBody = Schema.Struct({
  ...ChatBody.fields,
  messages: Schema.Array(messageWith({ ...returned, reasoning: maybe(Schema.String) }, Schema.Union([Part, Video]))),
  chat_template_kwargs: maybe(AnyObject),
  min_p: maybe(between(0, 1)),
  repetition_penalty: maybe(Schema.Finite),
  stop_token_ids: maybe(Schema.Array(Schema.Int)),
  top_k: maybe(Schema.Int),
})

/** https://api-docs.deepseek.com/api/create-chat-completion */
export const DeepSeekBody = Schema.Struct({
  ...common,
  messages: Schema.Array(messageWith({ ...returned, prefix: maybe(Schema.Boolean) })),
  max_tokens: nullable(Positive),
  thinking: nullable(Schema.Struct(switches)),
  // It reads words that others have as its own.
  reasoning_effort: maybe(Schema.Literals(["minimal", "low", "medium", "high", "xhigh", "max", "ultra"])),
})

/** https://platform.moonshot.ai/docs/api/chat */
export const MoonshotBody = Schema.Struct({
  ...common,
  messages: Schema.Array(messageWith({ ...returned, partial: maybe(Schema.Boolean) })),
  max_tokens: nullable(Positive),
  thinking: nullable(Schema.Struct(switches)),
  prompt_cache_key: maybe(Schema.String),
})

/** https://docs.x.ai/developers/rest-api-reference/inference/chat */
export const XaiBody = Schema.Struct({
  ...common,
  messages: Schema.Array(messageWith(returned)),
  max_completion_tokens: nullable(Positive),
  max_tokens: nullable(Positive),
  reasoning_effort: maybe(Schema.Literals(["none", "low", "medium", "high", "xhigh"])),
})

const { logprobs: _logprobs, top_logprobs: _top, n: _n, seed: _seedless, ...zai } = common

/** https://docs.z.ai/api-reference/llm/chat-completion */
export const ZaiBody = Schema.Struct({
  ...zai,
  messages: Schema.Array(messageWith(returned)),
  max_tokens: nullable(Positive),
  thinking: maybe(Schema.Struct({ ...switches, clear_thinking: maybe(Schema.Boolean) })),
  do_sample: maybe(Schema.Boolean),
})

const { logprobs: _wanted, top_logprobs: _best, n: _replies, ...groq } = common

/** https://console.groq.com/docs/api-reference */
export const GroqBody = Schema.Struct({
  ...groq,
  messages: Schema.Array(messageWith({ reasoning: maybe(Schema.String) })),
  max_completion_tokens: nullable(Positive),
  max_tokens: nullable(Positive),
  reasoning_effort: maybe(Schema.Literals(["none", "default", "low", "medium", "high"])),
  reasoning_format: maybe(Schema.Literals(["hidden", "raw", "parsed"])),
  search_settings: maybe(AnyObject),
  service_tier: nullable(Schema.Literals(["auto", "on_demand", "flex", "performance"])),
})

/** https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference */
export const QwenBody = Schema.Struct({
  ...common,
  messages: Schema.Array(messageWith({ ...returned, partial: maybe(Schema.Boolean) })),
  max_tokens: nullable(Positive),
  top_k: maybe(Schema.Int),
  enable_thinking: maybe(Schema.Boolean),
  thinking_budget: maybe(Schema.Int),
})

const {
  seed: _seed,
  stream_options: _options,
  tool_choice: _choice,
  user: _user,
  logprobs: _asked,
  top_logprobs: _most,
  ...mistral
} = common
const { max_tokens } = QwenBody.fields

/** https://docs.mistral.ai/api */
export const MistralBody = Schema.Struct({
  ...mistral,
  messages: Schema.Array(
    Schema.Union([
      Schema.Struct({
        role: assistant.role,
        content: assistant.content,
        tool_calls: assistant.tool_calls,
        prefix: maybe(Schema.Boolean),
      }),
      Schema.Struct({
        role: Schema.Literals(["system", "user", "tool"]),
        content: Schema.Union([
          Schema.String,
          Schema.Array(
            Schema.Union([Part, Schema.Struct({ type: Schema.Literal("document_url"), document_url: Schema.String })]),
          ),
        ]),
        tool_call_id: maybe(Schema.String),
        ...name,
      }),
    ]),
  ),
  max_tokens,
  random_seed: maybe(Schema.Int),
  reasoning_effort: maybe(Schema.Literals(["none", "high"])),
  prompt_cache_key: maybe(Schema.String),
  safe_prompt: maybe(Schema.Boolean),
  prediction: maybe(Schema.Struct({ type: Schema.Literal("content"), content: Schema.String })),
  tool_choice: maybe(Schema.Union([Schema.Literals(["auto", "none", "any", "required"]), ToolChoice.members[1]])),
})
