/** Usage that clients report for calls that bypassed the gateway. */
import { Schema } from "effect"
import { Purpose } from "./exchange.ts"
import { SessionId } from "./session.ts"
import { TokenCount } from "./values/bounds.ts"
import { OccurredAt } from "./values/instant.ts"
import { storedName } from "./values/text.ts"

const Name = storedName(256)

export const UsageEvent = Schema.Struct({
  /** The idempotency key. */
  clientEventId: storedName(64),
  modelHandle: Name,
  modelId: Name,
  inTokens: TokenCount,
  outTokens: TokenCount,
  cacheReadTokens: TokenCount,
  cacheWriteTokens: TokenCount,
  estimated: Schema.Boolean,
  occurredAt: OccurredAt,
  sessionId: Schema.optionalKey(SessionId),
  purpose: Schema.optionalKey(Purpose),
})
export type UsageEvent = typeof UsageEvent.Type

export const maxUsageEvents = 200

/** Any other field is refused, so that no content can be reported. */
export const UsageReport = Schema.Struct({
  events: Schema.Array(UsageEvent).check(Schema.isMaxLength(maxUsageEvents)),
}).annotate({ identifier: "UsageReport" })
export type UsageReport = typeof UsageReport.Type

export const UsageReceipt = Schema.Struct({ accepted: Schema.Int, duplicates: Schema.Int }).annotate({
  identifier: "UsageReceipt",
})
export type UsageReceipt = typeof UsageReceipt.Type
