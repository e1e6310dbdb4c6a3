/** What clients report of calls that did not go through the gateway. Source: interface.md "Client usage event". */
import { Schema } from "effect"
import { Purpose } from "./exchange.ts"
import { SessionId } from "./session.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000_000 }))
const Name = Schema.NonEmptyString.check(Schema.isMaxLength(256))

const Instant = Schema.String.check(
  Schema.isMaxLength(40),
  Schema.makeFilter((text: string) =>
    /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text)) ? undefined : "an instant is needed",
  ),
)

export const UsageEvent = Schema.Struct({
  /** The idempotency key. */
  clientEventId: Schema.NonEmptyString.check(Schema.isMaxLength(64)),
  modelHandle: Name,
  modelId: Name,
  inTokens: Count,
  outTokens: Count,
  cacheReadTokens: Count,
  cacheWriteTokens: Count,
  estimated: Schema.Boolean,
  occurredAt: Instant,
  sessionId: Schema.optionalKey(SessionId),
  purpose: Schema.optionalKey(Purpose),
})
export type UsageEvent = typeof UsageEvent.Type

export const maxUsageEvents = 200

/** A list of what is allowed: any other field is refused, so that no content can be reported. */
export const UsageReport = Schema.Struct({
  events: Schema.Array(UsageEvent).check(Schema.isMaxLength(maxUsageEvents)),
}).annotate({ identifier: "UsageReport" })
export type UsageReport = typeof UsageReport.Type

export const UsageReceipt = Schema.Struct({ accepted: Schema.Int, duplicates: Schema.Int }).annotate({
  identifier: "UsageReceipt",
})
export type UsageReceipt = typeof UsageReceipt.Type
