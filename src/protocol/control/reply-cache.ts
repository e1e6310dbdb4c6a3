/** The reply cache: its settings in the catalogue and in requests, and its reports. */
import { Schema } from "effect"
import type { ModelKind } from "../kinds/call-kind.ts"
import { Currency, Decimal } from "../usage.ts"
import { millisOf } from "../values/duration.ts"

/** Kinds of calls whose replies can be kept. */
export const keptKinds: ReadonlySet<ModelKind> = new Set(["chat", "embedding", "rerank", "moderation"])

/** A duration, stored as it is written. `0s` is off. */
const Ttl = Schema.String.check(
  Schema.isPattern(/^\d{1,9}(ms|s|m|h)$/, { expected: "a duration such as 250ms, 10s, 2m or 1h" }),
  Schema.makeFilter((text) => (millisOf(text) <= 24 * 3_600_000 ? undefined : "at most 24h")),
)

export const ModelReplyCache = Schema.Struct({ ttl: Ttl })

/** The scope that shares replies: an organisation, an application, or a person or end user. */
export const CacheShare = Schema.Literals(["org", "app", "person"])
export type CacheShare = typeof CacheShare.Type

/** The cache settings of an organisation, which win over a model's. Without `ttl`, the model's is used. */
export const OrgReplyCache = Schema.Struct({
  ttl: Schema.optionalKey(Ttl),
  share: Schema.optionalKey(CacheShare),
})

/** `off`: the cache is neither read nor written; `refresh`: it is written only. */
export const ReplyCaching = Schema.Literals(["off", "refresh"])
export type ReplyCaching = typeof ReplyCaching.Type

/** The source of a reply, while its cache is on. */
export const CacheState = Schema.Literals(["hit", "miss"])
export type CacheState = typeof CacheState.Type

/** The cache settings of a request, in kinds of calls that have no others. */
export const RequestCache = Schema.Struct({ reply: Schema.optionalKey(ReplyCaching) })

/**
 * The number of replies that emptying a cache has removed; a node that keeps replies in memory removes its own a moment
 * later.
 */
export const ClearedReplies = Schema.Struct({ removed: Schema.Int }).annotate({ identifier: "ClearedReplies" })
export type ClearedReplies = typeof ClearedReplies.Type

/** The groups of a report. */
export const ReportedBy = Schema.Literals(["model", "org"])
export type ReportedBy = typeof ReportedBy.Type

/** Statistics of caches in a period, by model or organisation, the most asked first; at most 100. */
export const ReplyCacheReport = Schema.Struct({
  from: Schema.String,
  to: Schema.String,
  data: Schema.Array(
    Schema.Struct({
      group: Schema.String,
      /** Counts of calls by the source of their reply: stored replies; replies of a call that ran already; vendor calls. */
      hits: Schema.Int,
      waits: Schema.Int,
      misses: Schema.Int,
      /** Tokens that no vendor made again. */
      tokens: Schema.Int,
      /** The amounts that they would have cost in addition, by currency. */
      saved: Schema.Record(Currency, Decimal),
    }),
  ),
}).annotate({ identifier: "ReplyCacheReport" })
export type ReplyCacheReport = typeof ReplyCacheReport.Type

interface Settings {
  readonly model: { readonly replyCache?: typeof ModelReplyCache.Type }
  readonly org: { readonly replyCache?: typeof OrgReplyCache.Type }
}

/** The time for which replies are kept, and the scope that shares them; undefined if they are not kept. */
export const cachingOf = ({
  model,
  org,
}: Settings): { readonly ttlMs: number; readonly share: CacheShare } | undefined => {
  const ttl = org.replyCache?.ttl ?? model.replyCache?.ttl
  const ttlMs = ttl === undefined ? 0 : millisOf(ttl)
  return ttlMs === 0 ? undefined : { ttlMs, share: org.replyCache?.share ?? "org" }
}
