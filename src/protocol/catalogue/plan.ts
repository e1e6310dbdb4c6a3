/** Plans: what an organisation may use at once and each day. */
import { Schema } from "effect"
import { PerMinute, TokenLimit } from "../values/bounds.ts"
import { Id, Int, Positive } from "./values.ts"

/** Shares of a limit at which a warning is given, once a period, e.g. `[0.8]`. */
export const WarnAt = Schema.Array(
  Schema.Number.check(Schema.isBetween({ minimum: 0.01, maximum: 1 }), Schema.isMultipleOf(0.01)),
).check(Schema.isMaxLength(5))

export const Plan = Schema.Struct({
  id: Id,
  concurrency: Schema.optionalKey(Positive),
  perMinute: Schema.optionalKey(PerMinute),
  endUserPerMinute: Schema.optionalKey(PerMinute),
  /** The daily tokens of the plan, held as a budget of the organisation. */
  dailyTokens: Schema.optionalKey(TokenLimit),
  /** Thresholds of `dailyTokens`. */
  warnAt: Schema.optionalKey(WarnAt),
  /** The maximum number of members of an organisation. */
  maxMembers: Schema.optionalKey(Positive),
  maxApps: Schema.optionalKey(Positive),
  /** Calls of each kind in a day, of the organisation and of each of its end users. */
  websearchDaily: Schema.optionalKey(Int),
  endUserWebsearchDaily: Schema.optionalKey(Int),
  imagegenDaily: Schema.optionalKey(Int),
  endUserImagegenDaily: Schema.optionalKey(Int),
  ttsDaily: Schema.optionalKey(Int),
  endUserTtsDaily: Schema.optionalKey(Int),
  asrDaily: Schema.optionalKey(Int),
  endUserAsrDaily: Schema.optionalKey(Int),
  videogenDaily: Schema.optionalKey(Int),
  endUserVideogenDaily: Schema.optionalKey(Int),
  testTier: Schema.optionalKey(Schema.Boolean),
})
export type Plan = typeof Plan.Type
