/** Admin routes of the reply cache. */
import { Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { cachedReplies } from "../../money/cached-replies.ts"
import { UsageSummaries } from "../../money/usage-summary.ts"
import { Api } from "../../protocol/api.ts"
import { type ClearedReplies, ReportedBy } from "../../protocol/control/reply-cache.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { storedName } from "../../protocol/values/text.ts"
import { ReplyCache } from "../../reply-cache/reply-cache.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { summaryQueryOf } from "../activity-query.ts"
import { knownOrg, makeForOperator } from "../operator.ts"

const isReportedBy = Schema.is(ReportedBy)
const isName = Schema.is(storedName(256))

export const adminReplyCacheRoutes = HttpApiBuilder.group(
  Api,
  "adminReplyCache",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const summaries = yield* UsageSummaries
    const cache = yield* ReplyCache
    const tenants = yield* Tenants

    const report = Effect.fnUntraced(function* (query: Readonly<Record<string, string | undefined>>) {
      const { by = "model" } = query
      if (!isReportedBy(by)) return yield* invalidInput([{ path: "by", message: "model or org is possible" }])
      return yield* cachedReplies(summaries, { ...(yield* summaryQueryOf(query)), by })
    })
    const clear = Effect.fn("admin.clearReplyCache")(function* (org: string, model: string | undefined) {
      if (model !== undefined && !isName(model)) {
        return yield* invalidInput([{ path: "model", message: "a handle is required" }])
      }
      yield* knownOrg(tenants, org)
      return { removed: yield* cache.clear(org, model) } satisfies ClearedReplies
    })

    return handlers
      .handleRaw("replyCacheReport", ({ request, query }) => forOperator(request, report({ ...query })))
      .handleRaw("clearReplyCache", ({ request, params, query }) =>
        forOperator(request, clear(params.org, query.model)),
      )
  }),
)
