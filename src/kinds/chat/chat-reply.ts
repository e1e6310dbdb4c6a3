/** The reply of an exchange that is sent whole. */
import { Schema } from "effect"
import { ExchangeResponse } from "../../protocol/exchange.ts"

/** A reply in twp/1; for a client of the vendor's own API it may have the vendor's JSON instead, and then it has no blocks. */
export const ChatReply = Schema.Struct({
  ...ExchangeResponse.fields,
  carried: Schema.optionalKey(Schema.String),
  /** The id under which it is kept, for the API that has such ids: a reply that is given again has the same. */
  keptAs: Schema.optionalKey(Schema.String),
})
export type ChatReply = typeof ChatReply.Type
