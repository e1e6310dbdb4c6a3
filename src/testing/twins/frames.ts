/** Frames of streams in the forms that vendors have. */
import { EventStreamCodec } from "@smithy/eventstream-codec"
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
): Uint8Array<ArrayBufferLike> =>
  codec.encode({
    headers: {
      [`:${message}-type`]: { type: "string", value: type },
      ":content-type": { type: "string", value: "application/json" },
      ":message-type": { type: "string", value: message },
    },
    body: Buffer.from(writeJson(payload)),
  })

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8")),
  (text) => Buffer.from(text),
)
