/** Frames of streams in the forms that vendors have. */
import { writeFrame } from "../../dialects/bedrock/event-stream.ts"
import { writeJson } from "../../protocol/json/json-text.ts"

/** A server-sent event in OpenAI's format. */
export const openaiFrame = (data: unknown): string => `data: ${typeof data === "string" ? data : writeJson(data)}\n\n`

/** A server-sent event in Anthropic's format. */
export const anthropicFrame = (data: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${writeJson(data)}\n\n`

/** A frame of Amazon's event streams, with its checksums. */
export const bedrockFrame = (
  type: string,
  payload: object,
  message: "event" | "exception" = "event",
): Uint8Array<ArrayBufferLike> => writeFrame(message, type, writeJson(payload))
