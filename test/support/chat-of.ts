/** Chat in a vendor's dialect. */
import type { ChatDialect } from "../../src/dialects/chat-dialect.ts"
import { dialectOf } from "../../src/dialects/index.ts"

export const chatOf = (vendor: Parameters<typeof dialectOf>[0]): ChatDialect => {
  const { chat } = dialectOf(vendor)
  if (chat === undefined) throw new Error(`${vendor.dialect} has no chat`)
  return chat
}
