/** Routes of an organisation's usage over time, its exchanges and its audit log. */

import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { OpenCalls } from "../../calls/open-calls.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import type { CatalogueSnapshot } from "../../catalogue/snapshot.ts"
import { listedApi } from "../../kinds/realtime/plan.ts"
import { formatAmount, parseAmount } from "../../money/amount.ts"
import { cachedDims } from "../../money/cached-replies.ts"
import { ExchangeLog, type StoredExchange } from "../../money/exchange-log.ts"
import { chargeLines } from "../../money/pricing.ts"
import { UsageSummaries } from "../../money/usage-summary.ts"
import { Api } from "../../protocol/api.ts"
import type { ExchangeDetail } from "../../protocol/control/exchange-log.ts"
import type { OwnModels } from "../../protocol/control/model-list.ts"
import { utc8 } from "../../protocol/values/utc8.ts"
import { AuditLog } from "../../store/audit-log.ts"
import { handlesOf } from "../../tenants/subject-limits.ts"
import { auditPage, endOf, logFilterOf, summaryQueryOf } from "../activity-query.ts"
import { type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { pageOf } from "../page-query.ts"
import { makePlanLimits } from "../plan-limits.ts"

export const activityRoutes = HttpApiBuilder.group(
  Api,
  "activity",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const summaries = yield* UsageSummaries
    const log = yield* ExchangeLog
    const open = yield* OpenCalls
    const auditLog = yield* AuditLog
    const catalogue = yield* Catalogue

    const planLimits = yield* makePlanLimits

    const modelsOf = ({ org: { org }, limits }: Member): OwnModels => {
      const current = catalogue.current()
      return {
        currency: org.currency,
        data: handlesOf({ org, limits }, current).flatMap((handle) => {
          const known = current.model(handle)
          return known === undefined ? [] : [{ handle, kind: known.model.kind ?? "chat", ...listedApi(known) }]
        }),
      }
    }

    return handlers
      .handleRaw("ownModels", ({ request }) => forMember(request, (member) => Effect.sync(() => modelsOf(member))))
      .handleRaw("planLimits", ({ request }) => forMember(request, ({ org }) => planLimits(org.org)))
      .handleRaw("usageSummary", ({ request, query }) =>
        forMember(request, (member) =>
          Effect.flatMap(summaryQueryOf(query, zoneOf(member)), (asked) =>
            summaries.read({ ...asked, only: { ...asked.only, org: orgOf(member) }, person: personOf(member) }),
          ),
        ),
      )
      .handleRaw("listExchanges", ({ request, query }) =>
        forMember(request, (member) =>
          Effect.flatMap(Effect.zip(logFilterOf(query, zoneOf(member)), pageOf(query)), ([filter, page]) =>
            log.list({ ...filter, org: orgOf(member), person: personOf(member) }, page),
          ),
        ),
      )
      .handleRaw("openExchanges", ({ request }) =>
        forMember(request, (member) => open.list(orgOf(member), personOf(member))),
      )
      .handleRaw("readExchange", ({ request, params, query }) =>
        forMember(request, (member) =>
          Effect.flatMap(endOf(query), (atMs) =>
            Effect.map(log.find(orgOf(member), params.id, atMs, personOf(member)), (found) =>
              withLines(catalogue.current(), found),
            ),
          ),
        ),
      )
      .handleRaw("listAudit", ({ request, query }) =>
        forMember(request, (member) => Effect.andThen(requireAdmin(member), auditPage(auditLog, query, orgOf(member)))),
      )
  }),
)

const orgOf = ({ org }: Member): string => org.org.id
const zoneOf = ({ org: { org } }: Member): string => org.timeZone ?? utc8

/** Members see only their own usage. A member without a person has the organisation's token. */
const personOf = ({ role, principal }: Member): string | undefined =>
  role === "member" ? (principal.person?.id ?? "") : undefined

/** The line of a reply from the cache: a share of what its tokens cost, by the token. */
const cachedLine = ({ dims, cost = "0" }: StoredExchange) => {
  const count = dims?.[cachedDims.tokens]
  if (count === undefined) return undefined
  const million = 1_000_000n
  const perMillion = count === 0 ? 0n : ((parseAmount(cost) ?? 0n) * million) / BigInt(count)
  return { dimension: "cached_reply", count, perMillion: formatAmount(perMillion), cost }
}

/** An exchange with the lines of its bill, at the price that was in force. */
export const withLines = (snapshot: CatalogueSnapshot, stored: StoredExchange): ExchangeDetail => {
  const { currency, isBilled, model, at } = stored
  const price = currency === undefined || !isBilled ? undefined : snapshot.price(model, currency, Date.parse(at))
  if (price === undefined) return stored
  const cached = cachedLine(stored)
  if (cached !== undefined) return { ...stored, lines: [cached] }
  const lines = chargeLines(price, stored).map(({ dimension, count, perMillion, cost }) => ({
    dimension,
    count,
    perMillion: formatAmount(perMillion),
    cost: formatAmount(cost),
  }))
  return { ...stored, lines }
}
