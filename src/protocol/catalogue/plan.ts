/** Plans: what an organisation may use at once and each day. */
import { Schema } from "effect"
import { PerMinute, TokenLimit } from "../values/bounds.ts"
import { Id, Int, optional, Positive } from "./values.ts"

/** Shares of a limit at which a warning is given, once a period, e.g. `[0.8]`. */
export const WarnAt = Schema.Array(
  Schema.Number.check(Schema.isBetween({ minimum: 0.01, maximum: 1 }), Schema.isMultipleOf(0.01)),
).check(Schema.isMaxLength(5))

export const Plan = Schema.Struct({
  id: Id,
  concurrency: optional(Positive),
  perMinute: optional(PerMinute),
  endUserPerMinute: optional(PerMinute),
  /** Held as a budget of the organisation. */
  dailyTokens: optional(TokenLimit),
  /** Thresholds of `dailyTokens`. */
  warnAt: optional(WarnAt),
  /** How many members an organisation may have. */
  maxMembers: optional(Positive),
  maxApps: optional(Positive),
  /** Calls of each kind in a day, of the organisation and of each of its end users. */
  websearchDaily: optional(Int),
  endUserWebsearchDaily: optional(Int),
  imagegenDaily: optional(Int),
  endUserImagegenDaily: optional(Int),
  ttsDaily: optional(Int),
  endUserTtsDaily: optional(Int),
  asrDaily: optional(Int),
  endUserAsrDaily: optional(Int),
  videogenDaily: optional(Int),
  endUserVideogenDaily: optional(Int),
  testTier: optional(Schema.Boolean),
})
export type Plan = typeof Plan.Type
