/** The reply cache, as the catalogue turns it on and as requests steer it. Source: reply-cache. */
import { Schema } from "effect"
import type { ModelKind } from "../kinds/call-kind.ts"
import { Currency, Decimal } from "../usage.ts"
import { millisOf } from "../values/duration.ts"

/** Kinds of calls whose replies can be kept. */
export const keptKinds: ReadonlySet<ModelKind> = new Set(["chat", "embedding", "rerank", "moderation"])

/** A duration, kept as it is written. `0s` is off. */
const Ttl = Schema.String.check(
  Schema.isPattern(/^\d{1,9}(ms|s|m|h)$/, { expected: "a duration such as 250ms, 10s, 2m or 1h" }),
  Schema.makeFilter((text) => (millisOf(text) <= 24 * 3_600_000 ? undefined : "at most 24h")),
)

export const ModelReplyCache = Schema.Struct({ ttl: Ttl })

/** Who gets the replies that were made for one of them: an organisation, an application, or a person or end user. */
export const CacheShare = Schema.Literals(["org", "app", "person"])
export type CacheShare = typeof CacheShare.Type

/** Wins over a model's. Without `ttl`, the model's holds. */
export const OrgReplyCache = Schema.Struct({
  ttl: Schema.optionalKey(Ttl),
  share: Schema.optionalKey(CacheShare),
})

/** `off`: neither looked for nor kept; `refresh`: not looked for, and kept. */
export const ReplyCaching = Schema.Literals(["off", "refresh"])
export type ReplyCaching = typeof ReplyCaching.Type

/** Where a reply came from, while its cache is on. */
export const CacheState = Schema.Literals(["hit", "miss"])
export type CacheState = typeof CacheState.Type

/** Of requests whose cache is steered by nothing else. */
export const RequestCache = Schema.Struct({ reply: Schema.optionalKey(ReplyCaching) })

/** What emptying a cache has removed; a node that keeps replies in memory removes its own a moment later. */
export const ClearedReplies = Schema.Struct({ removed: Schema.Int }).annotate({ identifier: "ClearedReplies" })
export type ClearedReplies = typeof ClearedReplies.Type

/** What a report is by. */
export const ReportedBy = Schema.Literals(["model", "org"])
export type ReportedBy = typeof ReportedBy.Type

/** What caches did in a period, by model or organisation, the most asked first; at most 100. */
export const ReplyCacheReport = Schema.Struct({
  from: Schema.String,
  to: Schema.String,
  data: Schema.Array(
    Schema.Struct({
      group: Schema.String,
      /** Replies that were kept; replies of a call that ran already; vendor calls. */
      hits: Schema.Int,
      waits: Schema.Int,
      misses: Schema.Int,
      /** Tokens that no vendor made again. */
      tokens: Schema.Int,
      /** What they would have cost more, by currency. */
      saved: Schema.Record(Currency, Decimal),
    }),
  ),
}).annotate({ identifier: "ReplyCacheReport" })
export type ReplyCacheReport = typeof ReplyCacheReport.Type

interface Settings {
  readonly model: { readonly replyCache?: typeof ModelReplyCache.Type }
  readonly org: { readonly replyCache?: typeof OrgReplyCache.Type }
}

/** How long replies are kept, and for whom; undefined if they are not. */
export const cachingOf = ({
  model,
  org,
}: Settings): { readonly ttlMs: number; readonly share: CacheShare } | undefined => {
  const ttl = org.replyCache?.ttl ?? model.replyCache?.ttl
  const ttlMs = ttl === undefined ? 0 : millisOf(ttl)
  return ttlMs === 0 ? undefined : { ttlMs, share: org.replyCache?.share ?? "org" }
}
