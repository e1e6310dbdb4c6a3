/** The exchange: a request to a chat model and its reply. */
import { Schema } from "effect"
import { AnswerBlock, SentMessage, ToolName } from "./block.ts"
import { RequestCache } from "./control/reply-cache.ts"
import { ExtraParams } from "./extra-params.ts"
import { ModelHandle } from "./model-handle.ts"
import { AskedTool } from "./tool.ts"
import { Usage } from "./usage.ts"
import { Tags } from "./values/tags.ts"
import { storedName } from "./values/text.ts"

const Positive = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000_000 }))

/** The amount of reasoning before the answer; `off` requests none. */
export const ReasoningLevel = Schema.Literals(["off", "minimal", "low", "medium", "high", "xhigh", "max"])
export type ReasoningLevel = typeof ReasoningLevel.Type

/** The work that a model does for its answer, whether it reasons before or not. */
export const Effort = Schema.Literals(["low", "medium", "high", "xhigh", "max"])
export type Effort = typeof Effort.Type

/** Whether a reply shows the model's reasoning: a summary, or only what its vendor signed. */
export const ReasoningDisplay = Schema.Literals(["summary", "omitted"])
export type ReasoningDisplay = typeof ReasoningDisplay.Type

export const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.Struct({ name: ToolName }),
])
export type ToolChoice = typeof ToolChoice.Type

/** An answer that follows a JSON Schema; `strict` asks for vendors' guaranteed form. */
export const StructuredOutput = Schema.Struct({
  name: Schema.optionalKey(ToolName),
  schema: Schema.JsonObject,
  strict: Schema.optionalKey(Schema.Boolean),
})
export type StructuredOutput = typeof StructuredOutput.Type

export const ExchangeParams = Schema.Struct({
  maxTokens: Schema.optionalKey(Positive),
  temperature: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }))),
  topP: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  stop: Schema.optionalKey(
    Schema.Array(Schema.NonEmptyString.check(Schema.isMaxLength(256))).check(Schema.isMaxLength(16)),
  ),
  reasoning: Schema.optionalKey(ReasoningLevel),
  /** The most tokens of reasoning, where a vendor takes a budget; a level where it does not. 0 requests none. */
  reasoningBudget: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000_000 }))),
  /**
   * The effort of the answer. Claude takes it beside its thinking; if a vendor has one field for both, the level of reasoning
   * counts.
   */
  effort: Schema.optionalKey(Effort),
  reasoningDisplay: Schema.optionalKey(ReasoningDisplay),
  toolChoice: Schema.optionalKey(ToolChoice),
  /** Whether one reply may have several tool calls; the vendor's own default if absent. */
  parallelToolCalls: Schema.optionalKey(Schema.Boolean),
  /** The most rounds of calls that the gateway makes for the model, from 1 to 32; 8 if absent. Then it must answer without. */
  maxRounds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 32 }))),
  /** `json` asks for any JSON object. */
  output: Schema.optionalKey(Schema.Union([Schema.Literal("json"), StructuredOutput])),
  ...ExtraParams.fields,
  promptTokensEstimate: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000_000 }))),
})
export type ExchangeParams = typeof ExchangeParams.Type

/** The idempotency key of an exchange, unique at owner level; a ULID is recommended. */
export const ClientRequestId = storedName(128)

/** A billing-attribution purpose. Well-formed values outside the vocabulary are recorded as given. */
export const Purpose = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,15}$/, {
    expected: "a purpose such as summary: 1 to 16 lower-case letters, digits, _ and -",
  }),
)

export const ExchangeMeta = Schema.Struct({
  requestId: Schema.optionalKey(ClientRequestId),
  sessionId: Schema.optionalKey(storedName(64)),
  client: Schema.optionalKey(
    Schema.Struct({
      name: Schema.String.check(Schema.isMaxLength(64)),
      version: Schema.String.check(Schema.isMaxLength(64)),
    }),
  ),
  purpose: Schema.optionalKey(Purpose),
  /** Names and values by which usage is counted, e.g. `{"feature": "rank"}`. */
  tags: Schema.optionalKey(Tags),
})

export const ExchangeCache = Schema.Struct({
  skipWrite: Schema.optionalKey(Schema.Boolean),
  key: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(256))),
  /** The use of the gateway's own cache of replies; it cannot be turned on if its operator left it off. */
  ...RequestCache.fields,
})

/** Unknown fields are refused: dropping a parameter silently would cost its user money. */
export const ExchangeRequest = Schema.Struct({
  model: ModelHandle,
  thread: Schema.Array(SentMessage).check(Schema.isMinLength(1), Schema.isMaxLength(10_000)),
  tools: Schema.optionalKey(Schema.Array(AskedTool).check(Schema.isMaxLength(512))),
  params: Schema.optionalKey(ExchangeParams),
  meta: Schema.optionalKey(ExchangeMeta),
  cache: Schema.optionalKey(ExchangeCache),
  stream: Schema.optionalKey(Schema.Boolean),
  /** Keeps this exchange, if its organisation keeps responses, so that another one can go on from it. */
  keep: Schema.optionalKey(Schema.Boolean),
  /** The `requestId` of the reply of a kept exchange, which this one goes on from: its thread comes before this one's. */
  after: Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^req_[\w-]{16}$/, { expected: "the x-svc-request-id of a kept reply, such as req_…" }),
    ),
  ),
}).annotate({ identifier: "ExchangeRequest" })
export type ExchangeRequest = typeof ExchangeRequest.Type

/**
 * The reason why a reply ended. `pause`: the vendor gave a long turn back, to be sent again unchanged; `refusal`: the model
 * declined; `filtered`: the vendor withheld it; `malformed_call`: the model wrote a call that cannot be read.
 */
export const Stop = Schema.Literals([
  "end",
  "max_tokens",
  "stop_sequence",
  "tool_call",
  "filtered",
  "interrupted",
  "pause",
  "refusal",
  "malformed_call",
])
export type Stop = typeof Stop.Type

/** The stop sequence that matched, if the vendor reports it. */
export const stopSequence = Schema.optionalKey(Schema.String)

/** One of several replies. */
export const Reply = Schema.Struct({ blocks: Schema.Array(AnswerBlock), stop: Stop, stopSequence })
export type Reply = typeof Reply.Type

/** The non-streaming reply; `requestId` equals the header `x-svc-request-id`. */
export const ExchangeResponse = Schema.Struct({
  requestId: Schema.String,
  clientRequestId: Schema.optionalKey(ClientRequestId),
  model: Schema.String,
  blocks: Schema.Array(AnswerBlock),
  stop: Stop,
  stopSequence,
  /** All replies, including the first, if several were asked for with `params.n`. */
  replies: Schema.optionalKey(Schema.Array(Reply)),
  usage: Usage,
}).annotate({ identifier: "ExchangeResponse" })
export type ExchangeResponse = typeof ExchangeResponse.Type

/** Sent with status 202 while the first call with the same idempotency key is still running. */
export const InProgress = Schema.Struct({
  status: Schema.Literal("in_progress"),
  requestId: ClientRequestId,
  retryAfterMs: Schema.Int,
}).annotate({ identifier: "InProgress" })
export type InProgress = typeof InProgress.Type
