/** The body of responses, each field at every depth. Source: https://platform.openai.com/docs/api-reference/responses/create */
import { Schema } from "effect"
import { AnyObject, between, maybe, nullable, Positive } from "../shape.ts"

const breakpoint = { prompt_cache_breakpoint: maybe(AnyObject) }

const InputPart = Schema.Union([
  Schema.Struct({ type: Schema.Literal("input_text"), text: Schema.String, ...breakpoint }),
  Schema.Struct({
    type: Schema.Literal("input_image"),
    image_url: nullable(Schema.String),
    file_id: nullable(Schema.String),
    detail: maybe(Schema.Literals(["auto", "low", "high", "original"])),
    ...breakpoint,
  }),
  Schema.Struct({
    type: Schema.Literal("input_file"),
    file_data: maybe(Schema.String),
    file_id: nullable(Schema.String),
    file_url: maybe(Schema.String),
    filename: maybe(Schema.String),
    detail: maybe(Schema.String),
    ...breakpoint,
  }),
  Schema.Struct({
    type: Schema.Literal("input_audio"),
    input_audio: Schema.Struct({ data: Schema.String, format: Schema.Literals(["wav", "mp3"]) }),
  }),
])

const OutputPart = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("output_text"),
    text: Schema.String,
    annotations: maybe(Schema.Array(AnyObject)),
    logprobs: maybe(Schema.Array(AnyObject)),
  }),
  Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String }),
])

const status = { status: nullable(Schema.Literals(["in_progress", "completed", "incomplete"])) }
const id = { id: nullable(Schema.String) }

const Input = Schema.Struct({
  type: maybe(Schema.Literal("message")),
  role: Schema.Literals(["user", "system", "developer"]),
  content: Schema.Union([Schema.String, Schema.Array(InputPart)]),
  ...status,
  ...id,
})

const Said = Schema.Struct({
  type: maybe(Schema.Literal("message")),
  role: Schema.Literal("assistant"),
  content: Schema.Union([Schema.String, Schema.Array(OutputPart)]),
  phase: nullable(Schema.Literals(["commentary", "final_answer"])),
  ...status,
  ...id,
})

const Items = {
  call: Schema.Struct({
    type: Schema.Literal("function_call"),
    call_id: Schema.String,
    name: Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]+$/)),
    arguments: Schema.String,
    namespace: nullable(Schema.String),
    caller: nullable(AnyObject),
    async: maybe(Schema.Boolean),
    ...status,
    ...id,
  }),
  result: Schema.Struct({
    type: Schema.Literal("function_call_output"),
    call_id: Schema.String,
    output: Schema.Union([Schema.String, Schema.Array(InputPart)]),
    caller: nullable(AnyObject),
    ...status,
    ...id,
  }),
  customCall: Schema.Struct({
    type: Schema.Literal("custom_tool_call"),
    call_id: Schema.String,
    name: Schema.String,
    input: Schema.String,
    namespace: nullable(Schema.String),
    ...status,
    ...id,
  }),
  customResult: Schema.Struct({
    type: Schema.Literal("custom_tool_call_output"),
    call_id: Schema.String,
    output: Schema.Union([Schema.String, Schema.Array(InputPart)]),
    ...id,
  }),
  reasoning: Schema.Struct({
    type: Schema.Literal("reasoning"),
    id: maybe(Schema.String),
    summary: Schema.Array(Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String })),
    content: nullable(Schema.Array(AnyObject)),
    encrypted_content: nullable(Schema.String),
    ...status,
  }),
  reference: Schema.Struct({ type: Schema.Literal("item_reference"), id: Schema.String }),
}

/** Items that OpenAI's own tools leave have the forms in which it sent them. */
const OfOwnTools = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.Literals([
      "web_search_call",
      "file_search_call",
      "computer_call",
      "computer_call_output",
      "code_interpreter_call",
      "image_generation_call",
      "local_shell_call",
      "local_shell_call_output",
      "shell_call",
      "shell_call_output",
      "apply_patch_call",
      "apply_patch_call_output",
      "mcp_list_tools",
      "mcp_approval_request",
      "mcp_approval_response",
      "mcp_call",
      "tool_search_call",
      "tool_search_output",
      "compaction",
    ]),
  }),
  [AnyObject],
)

const FunctionName = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]{1,128}$/))

const FunctionTool = Schema.Struct({
  type: Schema.Literal("function"),
  name: FunctionName,
  description: nullable(Schema.String),
  parameters: nullable(AnyObject),
  strict: nullable(Schema.Boolean),
  allowed_callers: nullable(Schema.Array(Schema.String)),
  async: maybe(Schema.Boolean),
  defer_loading: maybe(Schema.Boolean),
  output_schema: nullable(AnyObject),
})

const CustomTool = Schema.Struct({
  type: Schema.Literal("custom"),
  name: FunctionName,
  description: maybe(Schema.String),
  format: maybe(AnyObject),
  defer_loading: maybe(Schema.Boolean),
})

/** Tools that OpenAI hosts, or defines. */
const OwnTool = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.Literals([
      "web_search",
      "web_search_preview",
      "file_search",
      "computer",
      "computer_use_preview",
      "code_interpreter",
      "image_generation",
      "local_shell",
      "shell",
      "apply_patch",
      "mcp",
      "namespace",
      "tool_search",
    ]),
  }),
  [AnyObject],
)

const Format = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["text", "json_object"]) }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    name: Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]{1,64}$/)),
    schema: AnyObject,
    description: maybe(Schema.String),
    strict: nullable(Schema.Boolean),
  }),
])

export const ResponsesBody = Schema.Struct({
  model: maybe(Schema.String),
  input: maybe(
    Schema.Union([
      Schema.String,
      Schema.Array(
        Schema.Union([
          Input,
          Said,
          Items.call,
          Items.result,
          Items.customCall,
          Items.customResult,
          Items.reasoning,
          Items.reference,
          OfOwnTools,
        ]),
      ),
    ]),
  ),
  instructions: nullable(Schema.String),
  max_output_tokens: nullable(Positive),
  max_tool_calls: nullable(Positive),
  access_programs: maybe(AnyObject),
  background: nullable(Schema.Boolean),
  context_management: nullable(Schema.Array(AnyObject)),
  conversation: nullable(Schema.Union([Schema.String, AnyObject])),
  image: maybe(AnyObject),
  include: nullable(Schema.Array(Schema.String)),
  metadata: nullable(Schema.Record(Schema.String, Schema.String)),
  moderation: nullable(AnyObject),
  parallel_tool_calls: nullable(Schema.Boolean),
  previous_response_id: nullable(Schema.String),
  prompt: nullable(AnyObject),
  prompt_cache_key: nullable(Schema.String),
  prompt_cache_options: maybe(AnyObject),
  prompt_cache_retention: nullable(Schema.Literals(["in_memory", "24h"])),
  reasoning: nullable(
    Schema.Struct({
      context: nullable(Schema.Literals(["auto", "current_turn", "all_turns"])),
      effort: nullable(Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
      generate_summary: nullable(Schema.Literals(["auto", "concise", "detailed"])),
      mode: maybe(Schema.String),
      summary: nullable(Schema.Literals(["auto", "concise", "detailed"])),
    }),
  ),
  safety_identifier: nullable(Schema.String),
  service_tier: nullable(Schema.Literals(["auto", "default", "flex", "scale", "priority", "fast"])),
  store: nullable(Schema.Boolean),
  stream: nullable(Schema.Boolean),
  stream_options: nullable(Schema.Struct({ include_obfuscation: maybe(Schema.Boolean) })),
  temperature: nullable(between(0, 2)),
  text: maybe(
    Schema.Struct({ format: maybe(Format), verbosity: nullable(Schema.Literals(["low", "medium", "high"])) }),
  ),
  tool_choice: maybe(
    Schema.Union([
      Schema.Literals(["none", "auto", "required"]),
      Schema.Struct({ type: Schema.Literals(["function", "custom"]), name: Schema.String }),
      Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [AnyObject]),
    ]),
  ),
  tools: maybe(Schema.Array(Schema.Union([FunctionTool, CustomTool, OwnTool]))),
  top_logprobs: nullable(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))),
  top_p: nullable(between(0, 1)),
  truncation: nullable(Schema.Literals(["auto", "disabled"])),
  user: maybe(Schema.String),
})
