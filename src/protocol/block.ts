/** Blocks and messages of twp/1. */
import { Schema } from "effect"

const cacheable = Schema.optionalKey(Schema.Boolean)

/** A MIME type such as `image/png`. */
const Mime = Schema.String.check(Schema.isPattern(/^[\w.+-]+\/[\w.+-]+$/), Schema.isMaxLength(127))
const Base64 = Schema.NonEmptyString.check(Schema.isBase64())
const HttpUrl = Schema.String.check(Schema.isPattern(/^https?:\/\/\S+$/), Schema.isMaxLength(8192))

/** A tool call id or tool name as vendors accept them. */
const CallId = Schema.NonEmptyString.check(Schema.isMaxLength(256))
export const ToolName = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]{1,64}$/))

export const TextBlock = Schema.Struct({ t: Schema.Literal("text"), v: Schema.String, cacheable })

/**
 * A model's reasoning. `redacted` blocks carry the vendor's opaque data in `v`; `signature` is verified by the vendor.
 */
export const ReasoningBlock = Schema.Struct({
  t: Schema.Literal("reasoning"),
  v: Schema.String,
  signature: Schema.optionalKey(Schema.String),
  redacted: Schema.optionalKey(Schema.Boolean),
})

/** `input` is the parsed JSON object; arguments that are not a JSON object arrive as `{"$raw": "<text>"}`. */
export const ToolCallBlock = Schema.Struct({
  t: Schema.Literal("tool_call"),
  id: CallId,
  name: ToolName,
  input: Schema.JsonObject,
})

/** `v` is the tool's result, serialized by the caller. */
export const ToolResultBlock = Schema.Struct({
  t: Schema.Literal("tool_result"),
  id: CallId,
  v: Schema.String,
  isError: Schema.optionalKey(Schema.Boolean),
  cacheable,
})

export const ImageBlock = Schema.Struct({
  t: Schema.Literal("image"),
  mime: Mime,
  data: Schema.optionalKey(Base64),
  url: Schema.optionalKey(HttpUrl),
}).check(exactlyOneSource())

export const FileBlock = Schema.Struct({
  t: Schema.Literal("file"),
  mime: Mime,
  name: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(255))),
  data: Schema.optionalKey(Base64),
  url: Schema.optionalKey(HttpUrl),
}).check(exactlyOneSource())

function exactlyOneSource<S extends { readonly data?: string; readonly url?: string }>() {
  return Schema.makeFilter((block: S) =>
    (block.data === undefined) !== (block.url === undefined) ? undefined : "exactly one of data and url is required",
  )
}

export const Block = Schema.Union([TextBlock, ReasoningBlock, ToolCallBlock, ToolResultBlock, ImageBlock, FileBlock])
export type Block = typeof Block.Type
export type TextBlock = typeof TextBlock.Type
export type ReasoningBlock = typeof ReasoningBlock.Type
export type ToolCallBlock = typeof ToolCallBlock.Type
export type ToolResultBlock = typeof ToolResultBlock.Type
export type ImageBlock = typeof ImageBlock.Type
export type FileBlock = typeof FileBlock.Type

/** Blocks of a model's reply. */
export const ReplyBlock = Schema.Union([TextBlock, ReasoningBlock, ToolCallBlock])
export type ReplyBlock = typeof ReplyBlock.Type

export const Role = Schema.Literals(["system", "user", "assistant", "tool"])
export type Role = typeof Role.Type

const blocksOf = <B extends Schema.Constraint>(block: B) =>
  Schema.Array(block).check(Schema.isMinLength(1), Schema.isMaxLength(1000))

/** A message; each role allows certain blocks. */
export const Message = Schema.Union([
  Schema.Struct({ role: Schema.Literal("system"), blocks: blocksOf(TextBlock) }),
  Schema.Struct({
    role: Schema.Literal("user"),
    blocks: blocksOf(Schema.Union([TextBlock, ImageBlock, FileBlock, ToolResultBlock])),
  }),
  Schema.Struct({ role: Schema.Literal("assistant"), blocks: blocksOf(ReplyBlock) }),
  Schema.Struct({ role: Schema.Literal("tool"), blocks: blocksOf(ToolResultBlock) }),
])
export type Message = typeof Message.Type

/** The address of a picture or a file: its own, or one that has its data. */
export const sourceUrl = ({ mime, data, url }: ImageBlock | FileBlock): string => url ?? `data:${mime};base64,${data}`
