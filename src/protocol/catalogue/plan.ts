/** Plans: what an organisation may use at once and each day. */
import { Schema } from "effect"
import { PerMinute, TokenLimit } from "../values/bounds.ts"
import { Bytes } from "./files.ts"
import { Id, Int, Positive } from "./values.ts"

/** Shares of a limit at which a warning is given, once a period, e.g. `[0.8]`. */
export const WarnAt = Schema.Array(
  Schema.Number.check(Schema.isBetween({ minimum: 0.01, maximum: 1 }), Schema.isMultipleOf(0.01)),
).check(Schema.isMaxLength(5))

export const Plan = Schema.Struct({
  id: Id,
  /** Sessions at the same time. */
  concurrency: Schema.optionalKey(Positive),
  /** Calls a minute of each key. */
  perMinute: Schema.optionalKey(PerMinute),
  /** Calls a minute of each end user. */
  endUserPerMinute: Schema.optionalKey(PerMinute),
  /** The daily tokens of the plan, held as a budget of the organisation. */
  dailyTokens: Schema.optionalKey(TokenLimit),
  /** Thresholds of `dailyTokens`. */
  warnAt: Schema.optionalKey(WarnAt),
  /** The maximum number of members of an organisation. */
  maxMembers: Schema.optionalKey(Positive),
  /** The maximum number of applications of an organisation. */
  maxApps: Schema.optionalKey(Positive),
  /** The maximum number of files that clients of an organisation keep here; 0 refuses every file. */
  maxFiles: Schema.optionalKey(Int),
  /** The maximum bytes of all these files; the lower one of this and `files.orgBytes` applies. */
  maxFilesBytes: Schema.optionalKey(Bytes),
  /** Calls of each kind in a day, of the organisation and of each of its end users. */
  websearchDaily: Schema.optionalKey(Int),
  /** Searches a day of each end user. */
  endUserWebsearchDaily: Schema.optionalKey(Int),
  /** Pictures a day. */
  imagegenDaily: Schema.optionalKey(Int),
  /** Pictures a day of each end user. */
  endUserImagegenDaily: Schema.optionalKey(Int),
  /** Calls for speech a day. */
  ttsDaily: Schema.optionalKey(Int),
  /** Calls for speech a day of each end user. */
  endUserTtsDaily: Schema.optionalKey(Int),
  /** Transcriptions a day. */
  asrDaily: Schema.optionalKey(Int),
  /** Transcriptions a day of each end user. */
  endUserAsrDaily: Schema.optionalKey(Int),
  /** Videos a day. */
  videogenDaily: Schema.optionalKey(Int),
  /** Videos a day of each end user. */
  endUserVideogenDaily: Schema.optionalKey(Int),
  /** Whether an application may have at most 100 end users a month. */
  testTier: Schema.optionalKey(Schema.Boolean),
})
export type Plan = typeof Plan.Type
