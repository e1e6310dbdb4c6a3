/** Blocks and messages of twp/1. */
import { Schema } from "effect"
import { citations } from "./citation.ts"
import { TokenLogprob } from "./extra-params.ts"

/** Whether a prefix that vendors cache ends here, and how long it is kept; `true` leaves that to the vendor. */
export const Cacheable = Schema.Union([Schema.Boolean, Schema.Literals(["5m", "1h"])])
export type Cacheable = typeof Cacheable.Type

export const cacheable = Schema.optionalKey(Cacheable)

/** A MIME type such as `image/png`. */
const Mime = Schema.String.check(
  Schema.isPattern(/^[\w.+-]+\/[\w.+-]+$/, { expected: "a media type such as image/png" }),
  Schema.isMaxLength(127),
)
const Base64 = Schema.NonEmptyString.check(Schema.isBase64())
const HttpUrl = Schema.String.check(
  Schema.isPattern(/^https?:\/\/\S+$/, { expected: "an http(s) URL" }),
  Schema.isMaxLength(8192),
)

/** A tool call id or tool name as vendors accept them. */
const CallId = Schema.NonEmptyString.check(Schema.isMaxLength(256))
export const ToolName = Schema.String.check(
  Schema.isPattern(/^[a-zA-Z0-9_-]{1,64}$/, { expected: "1 to 64 letters, digits, _ and -, such as get_weather" }),
)

/** The phase of a text: `commentary` or `final_answer`. Some models must get it back. */
export const phase = Schema.optionalKey(
  Schema.String.check(Schema.isPattern(/^[a-z_]{1,32}$/, { expected: "1 to 32 lower-case letters and _" })),
)

export const TextBlock = Schema.Struct({
  t: Schema.Literal("text"),
  v: Schema.String,
  cacheable,
  /** The part of its turn for which a model takes the text, as its vendor names it. */
  phase,
  /** Sources of a reply's text; without effect in a request. */
  citations,
  /** The probabilities of tokens, if `params.logprobs` asked for them; without effect in a request. */
  logprobs: Schema.optionalKey(Schema.Array(TokenLogprob)),
})

/**
 * A model's reasoning. `redacted` blocks carry the vendor's opaque data in `v`; `signature` is verified by the vendor.
 */
export const ReasoningBlock = Schema.Struct({
  t: Schema.Literal("reasoning"),
  v: Schema.String,
  signature: Schema.optionalKey(Schema.String),
  redacted: Schema.optionalKey(Schema.Boolean),
})

/**
 * `input` is the parsed JSON object; arguments that are not a JSON object arrive as `{"$raw": "<text>"}`. `json` is the text of
 * the same object, where a reader that writes it again would lose some of it: integers above 2^53, `1.10`, the order of members.
 */
export const ToolCallBlock = Schema.Struct({
  t: Schema.Literal("tool_call"),
  id: CallId,
  name: ToolName,
  input: Schema.JsonObject,
  json: Schema.optionalKey(Schema.String),
  /** The input of a tool that takes a text; `input` is then empty. */
  text: Schema.optionalKey(Schema.String),
  cacheable,
}).check(
  // Readers would disagree on which of two inputs counts.
  Schema.makeFilter(({ input, json, text }) =>
    text === undefined || (json === undefined && Object.keys(input).length === 0)
      ? undefined
      : "a call with a text has an empty input, and no json",
  ),
)

/** Vendors whose own blocks and files can be sent back to them. */
export const SealingDialect = Schema.Literals(["anthropic", "openai", "gemini"])
export type SealingDialect = typeof SealingDialect.Type

/** A file that is stored at a vendor, in the account of the gateway's key or of the organisation's own. */
const kept = Schema.optionalKey(
  Schema.Struct({
    dialect: SealingDialect,
    id: Schema.String.check(
      Schema.isPattern(/^[\w.:/-]{1,256}$/, { expected: "1 to 256 letters, digits and . _ : / -" }),
    ),
  }),
)

/** The detail of a picture; `original` is the picture without any reduction. */
export const Detail = Schema.Literals(["low", "high", "auto", "original"])
export type Detail = typeof Detail.Type

export const ImageBlock = Schema.Struct({
  t: Schema.Literal("image"),
  mime: Mime,
  detail: Schema.optionalKey(Detail),
  data: Schema.optionalKey(Base64),
  url: Schema.optionalKey(HttpUrl),
  kept,
  cacheable,
}).check(exactlyOneSource())

export const FileBlock = Schema.Struct({
  t: Schema.Literal("file"),
  mime: Mime,
  name: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(255))),
  data: Schema.optionalKey(Base64),
  url: Schema.optionalKey(HttpUrl),
  kept,
  cacheable,
}).check(exactlyOneSource())

/** The part of a video that the model sees, in seconds, and the number of pictures of each second. */
const Clip = Schema.Struct({
  from: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))),
  to: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))),
  fps: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0.01, maximum: 60 }))),
})

export const VideoBlock = Schema.Struct({
  t: Schema.Literal("video"),
  mime: Mime,
  data: Schema.optionalKey(Base64),
  url: Schema.optionalKey(HttpUrl),
  clip: Schema.optionalKey(Clip),
  cacheable,
}).check(exactlyOneSource())

export const AudioBlock = Schema.Struct({
  t: Schema.Literal("audio"),
  mime: Mime,
  data: Schema.optionalKey(Base64),
  url: Schema.optionalKey(HttpUrl),
  cacheable,
}).check(exactlyOneSource())

/** `v` is the tool's result, serialized by the caller; `blocks` is one that has more than text. */
export const ToolResultBlock = Schema.Struct({
  t: Schema.Literal("tool_result"),
  id: CallId,
  v: Schema.optionalKey(Schema.String),
  blocks: Schema.optionalKey(
    Schema.Array(
      Schema.Union([Schema.Struct({ t: Schema.Literal("text"), v: Schema.String }), ImageBlock, FileBlock, AudioBlock]),
    ).check(Schema.isMinLength(1), Schema.isMaxLength(100)),
  ),
  isError: Schema.optionalKey(Schema.Boolean),
  cacheable,
}).check(
  Schema.makeFilter(({ v, blocks }) =>
    (v === undefined) === (blocks === undefined) ? "exactly one of v and blocks is required" : undefined,
  ),
)

/**
 * The blocks that a vendor's own tools left in a thread: JSON of one block in that vendor's form. Targets of the dialect get
 * it back unchanged; others get the text that it showed, or nothing.
 */
export const VendorBlock = Schema.Struct({
  t: Schema.Literal("vendor"),
  dialect: SealingDialect,
  v: Schema.NonEmptyString,
  /** The text that it showed the user. */
  text: Schema.optionalKey(Schema.String),
})

function exactlyOneSource<S extends { readonly data?: string; readonly url?: string; readonly kept?: object }>() {
  return Schema.makeFilter(({ data, url, kept }: S) => {
    const sources = Number(data !== undefined) + Number(url !== undefined) + Number(kept !== undefined)
    return sources === 1 ? undefined : "exactly one of data and url is required"
  })
}

export const Block = Schema.Union([
  TextBlock,
  ReasoningBlock,
  ToolCallBlock,
  ToolResultBlock,
  ImageBlock,
  FileBlock,
  VideoBlock,
  AudioBlock,
  VendorBlock,
])
export type Block = typeof Block.Type
export type TextBlock = typeof TextBlock.Type
export type ReasoningBlock = typeof ReasoningBlock.Type
export type ToolCallBlock = typeof ToolCallBlock.Type
export type ToolResultBlock = typeof ToolResultBlock.Type
export type ImageBlock = typeof ImageBlock.Type
export type FileBlock = typeof FileBlock.Type
export type VideoBlock = typeof VideoBlock.Type
export type AudioBlock = typeof AudioBlock.Type
export type VendorBlock = typeof VendorBlock.Type

/** Blocks of a model's reply. */
export const ReplyBlock = Schema.Union([TextBlock, ReasoningBlock, ToolCallBlock, VendorBlock])
export type ReplyBlock = typeof ReplyBlock.Type

/** Blocks of a reply: the model's own, and the results of calls that the gateway made for it. */
export const AnswerBlock = Schema.Union([TextBlock, ReasoningBlock, ToolCallBlock, VendorBlock, ToolResultBlock])
export type AnswerBlock = typeof AnswerBlock.Type

/** Whether a block is the model's own. */
export const isOwnBlock = (block: AnswerBlock): block is ReplyBlock => block.t !== "tool_result"

/** The client's answer to a call that must be approved; `reason` is for the model, if the client refuses. */
export const ApprovalBlock = Schema.Struct({
  t: Schema.Literal("approval"),
  id: CallId,
  approve: Schema.Boolean,
  reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(10_000))),
})
export type ApprovalBlock = typeof ApprovalBlock.Type

export const Role = Schema.Literals(["system", "user", "assistant", "tool"])
export type Role = typeof Role.Type

const blocksOf = <B extends Schema.Constraint>(block: B) =>
  Schema.Array(block).check(Schema.isMinLength(1), Schema.isMaxLength(1000))

const SystemMessage = Schema.Struct({ role: Schema.Literal("system"), blocks: blocksOf(TextBlock) })
const UserMessage = Schema.Struct({
  role: Schema.Literal("user"),
  blocks: blocksOf(
    Schema.Union([TextBlock, ImageBlock, FileBlock, VideoBlock, AudioBlock, ToolResultBlock, VendorBlock]),
  ),
})
/** The phase of all texts of the message that have none. */
const AssistantMessage = Schema.Struct({ role: Schema.Literal("assistant"), phase, blocks: blocksOf(ReplyBlock) })
const ToolMessage = Schema.Struct({ role: Schema.Literal("tool"), blocks: blocksOf(ToolResultBlock) })

/** A message as vendors get it; each role allows certain blocks. */
export const Message = Schema.Union([SystemMessage, UserMessage, AssistantMessage, ToolMessage])
export type Message = typeof Message.Type

/** A message as clients send it: a reply may have results of calls that the gateway made, and calls may be approved. */
export const SentMessage = Schema.Union([
  SystemMessage,
  UserMessage,
  Schema.Struct({ ...AssistantMessage.fields, blocks: blocksOf(AnswerBlock) }),
  Schema.Struct({ ...ToolMessage.fields, blocks: blocksOf(Schema.Union([ToolResultBlock, ApprovalBlock])) }),
])
export type SentMessage = typeof SentMessage.Type

/** The blocks of a thread, and those in results of tools: a list, because a generator takes five times as long. */
export const everyBlock = (thread: ReadonlyArray<Message>): ReadonlyArray<Block> => {
  const all: Array<Block> = []
  for (const { blocks } of thread) {
    for (const block of blocks) {
      all.push(block)
      if (block.t !== "tool_result" || block.blocks === undefined) continue
      // One by one: as arguments of one call, many blocks would not fit on the stack.
      for (const inner of block.blocks) all.push(inner)
    }
  }
  return all
}

/** Blocks that have data or an address. */
export type MediaBlock = ImageBlock | FileBlock | VideoBlock | AudioBlock

/** The address of a picture or a file: its own, or one that has its data. */
export const sourceUrl = ({ mime, data, url }: MediaBlock): string => url ?? `data:${mime};base64,${data}`
