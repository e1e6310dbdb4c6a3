/** Every dialect by its name in the catalogue. */
import type { DialectName } from "../../protocol/catalogue.ts"
import { anthropic } from "./anthropic.ts"
import type { Dialect } from "./dialect.ts"
import { openaiChat } from "./openai-chat.ts"

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  "openai-chat": openaiChat,
  anthropic,
}
