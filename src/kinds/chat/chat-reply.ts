/** The reply of an exchange that is sent whole. */
import { Schema } from "effect"
import { ExchangeResponse } from "../../protocol/exchange.ts"

/** Beside the words of twp/1 it may be its vendor's own, in JSON, for a client of the same API: then it has no blocks. */
export const ChatReply = Schema.Struct({
  ...ExchangeResponse.fields,
  carried: Schema.optionalKey(Schema.String),
})
export type ChatReply = typeof ChatReply.Type
