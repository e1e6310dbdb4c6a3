/** Server-sent events in the forms that vendors have. */
import { writeJson } from "../../protocol/json-text.ts"

/** A server-sent event in OpenAI's format. */
export const openaiFrame = (data: unknown): string => `data: ${typeof data === "string" ? data : writeJson(data)}\n\n`

/** A server-sent event in Anthropic's format. */
export const anthropicFrame = (data: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${writeJson(data)}\n\n`
