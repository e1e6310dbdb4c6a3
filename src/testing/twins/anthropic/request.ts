/** The body of Anthropic's messages, each field at every depth. Source: https://platform.claude.com/docs/en/api/messages */
import { Schema } from "effect"
import { AnyObject, between, maybe, nullable, Positive } from "../shape.ts"

const CacheControl = Schema.Struct({
  type: Schema.Literal("ephemeral"),
  ttl: maybe(Schema.Literals(["5m", "1h"])),
})
const cacheable = { cache_control: nullable(CacheControl) }

const PictureType = Schema.Literals(["image/jpeg", "image/png", "image/gif", "image/webp"])
const UrlSource = Schema.Struct({ type: Schema.Literal("url"), url: Schema.String })
const FileSource = Schema.Struct({ type: Schema.Literal("file"), file_id: Schema.String })

const Text = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  ...cacheable,
  citations: nullable(Schema.Array(AnyObject)),
})

const Image = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Union([
    Schema.Struct({ type: Schema.Literal("base64"), media_type: PictureType, data: Schema.String }),
    UrlSource,
    FileSource,
  ]),
  ...cacheable,
  transformations: nullable(AnyObject),
})

const Document = Schema.Struct({
  type: Schema.Literal("document"),
  source: Schema.Union([
    Schema.Struct({
      type: Schema.Literal("base64"),
      media_type: Schema.Literal("application/pdf"),
      data: Schema.String,
    }),
    Schema.Struct({ type: Schema.Literal("text"), media_type: Schema.Literal("text/plain"), data: Schema.String }),
    Schema.Struct({
      type: Schema.Literal("content"),
      content: Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, Image]))]),
    }),
    UrlSource,
    FileSource,
  ]),
  ...cacheable,
  citations: nullable(Schema.Struct({ enabled: maybe(Schema.Boolean) })),
  context: nullable(Schema.String),
  title: nullable(Schema.String),
})

const SearchResult = Schema.Struct({
  type: Schema.Literal("search_result"),
  source: Schema.String,
  title: Schema.String,
  content: Schema.Array(Text),
  ...cacheable,
  citations: maybe(Schema.Struct({ enabled: maybe(Schema.Boolean) })),
})

const ToolReference = Schema.Struct({
  type: Schema.Literal("tool_reference"),
  tool_name: Schema.String,
  ...cacheable,
})

const ToolUse = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: AnyObject,
  ...cacheable,
  caller: maybe(AnyObject),
  toolset_name: nullable(Schema.String),
})

const ToolResult = Schema.Struct({
  type: Schema.Literal("tool_result"),
  tool_use_id: Schema.String,
  content: maybe(
    Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, Image, Document, SearchResult, ToolReference]))]),
  ),
  is_error: maybe(Schema.Boolean),
  ...cacheable,
  toolset_name: nullable(Schema.String),
})

const Thinking = Schema.Struct({
  type: Schema.Literal("thinking"),
  thinking: Schema.String,
  signature: Schema.String,
})
const RedactedThinking = Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String })

/** Blocks that Anthropic's own tools leave have the forms in which it sent them. */
const OfOwnTools = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.Literals([
      "server_tool_use",
      "web_search_tool_result",
      "web_fetch_tool_result",
      "code_execution_tool_result",
      "bash_code_execution_tool_result",
      "text_editor_code_execution_tool_result",
      "tool_search_tool_result",
      "container_upload",
      "mcp_tool_use",
      "mcp_tool_result",
      "compaction",
    ]),
  }),
  [AnyObject],
)

const Block = Schema.Union([
  Text,
  Image,
  Document,
  SearchResult,
  ToolUse,
  ToolResult,
  Thinking,
  RedactedThinking,
  OfOwnTools,
])

const Message = Schema.Struct({
  role: Schema.Literals(["user", "assistant", "system"]),
  content: Schema.Union([Schema.String, Schema.Array(Block)]),
})

const CustomTool = Schema.Struct({
  type: nullable(Schema.Literal("custom")),
  name: Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]{1,128}$/)),
  description: maybe(Schema.String),
  input_schema: AnyObject,
  ...cacheable,
  allowed_callers: maybe(Schema.Array(Schema.String)),
  defer_loading: maybe(Schema.Boolean),
  eager_input_streaming: nullable(Schema.Boolean),
  input_examples: maybe(Schema.Array(AnyObject)),
  strict: maybe(Schema.Boolean),
})

/** A tool that Anthropic defines is named with the day of its version. */
const OwnTool = Schema.StructWithRest(Schema.Struct({ type: Schema.String.check(Schema.isPattern(/_\d{8}$/)) }), [
  AnyObject,
])

const isParallel = { disable_parallel_tool_use: maybe(Schema.Boolean) }
const display = { display: nullable(Schema.Literals(["summarized", "omitted"])) }

export const MessagesBody = Schema.Struct({
  model: Schema.String,
  max_tokens: Positive,
  messages: Schema.Array(Message),
  system: maybe(Schema.Union([Schema.String, Schema.Array(Text)])),
  cache_control: nullable(CacheControl),
  container: nullable(Schema.Union([Schema.String, AnyObject])),
  diagnostics: nullable(AnyObject),
  inference_geo: nullable(Schema.String),
  metadata: maybe(Schema.Struct({ user_id: nullable(Schema.String) })),
  output_config: maybe(
    Schema.Struct({
      effort: nullable(Schema.Literals(["low", "medium", "high", "xhigh", "max"])),
      format: nullable(Schema.Struct({ type: Schema.Literal("json_schema"), schema: AnyObject })),
      task_budget: nullable(AnyObject),
    }),
  ),
  service_tier: maybe(Schema.Literals(["auto", "standard_only"])),
  speed: nullable(Schema.Literals(["standard", "fast"])),
  stop_sequences: maybe(Schema.Array(Schema.String)),
  stream: maybe(Schema.Boolean),
  temperature: maybe(between(0, 1)),
  top_p: maybe(between(0, 1)),
  top_k: maybe(Schema.Int),
  thinking: maybe(
    Schema.Union([
      Schema.Struct({ type: Schema.Literal("enabled"), budget_tokens: Schema.Int, ...display }),
      Schema.Struct({ type: Schema.Literal("adaptive"), ...display }),
      Schema.Struct({ type: Schema.Literal("disabled") }),
    ]),
  ),
  tool_choice: maybe(
    Schema.Union([
      Schema.Struct({ type: Schema.Literal("auto"), ...isParallel }),
      Schema.Struct({ type: Schema.Literal("any"), ...isParallel }),
      Schema.Struct({ type: Schema.Literal("tool"), name: Schema.String, ...isParallel }),
      Schema.Struct({ type: Schema.Literal("none") }),
    ]),
  ),
  tools: maybe(Schema.Array(Schema.Union([CustomTool, OwnTool]))),
  user_profile_id: maybe(Schema.String),
  workspace_id: maybe(Schema.String),
  context_management: nullable(AnyObject),
  mcp_servers: maybe(Schema.Array(AnyObject)),
})
