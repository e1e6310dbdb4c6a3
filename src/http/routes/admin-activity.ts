/** Admin routes of usage over time, exchanges, targets, prices, the catalogue's text and history, and the audit log. */

import { Clock, Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { PlanCurve } from "../../admission/plan-usage.ts"
import { OpenCalls } from "../../calls/open-calls.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import type { CatalogueSnapshot } from "../../catalogue/snapshot.ts"
import { isWatchedText } from "../../catalogue/watch.ts"
import { WeirConfig } from "../../config.ts"
import { listedApi } from "../../kinds/realtime/plan.ts"
import { ExchangeLog } from "../../money/exchange-log.ts"
import { UsageSummaries } from "../../money/usage-summary.ts"
import { Api } from "../../protocol/api.ts"
import type { CatalogueText, PriceList, Targets } from "../../protocol/control/activity.ts"
import type { AdminModels, AdminPlans } from "../../protocol/control/model-list.ts"
import { serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { storedName } from "../../protocol/values/text.ts"
import { utc8 } from "../../protocol/values/utc8.ts"
import { AuditLog } from "../../store/audit-log.ts"
import { NodeProblems } from "../../telemetry/node-problems.ts"
import { Directory, type ModelsOfOrgs } from "../../tenants/directory.ts"
import { allowsModel } from "../../tenants/subject-limits.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { TargetHealth } from "../../upstream/health.ts"
import { auditPage, endOf, logFilterOf, numberedPage, numberOf, summaryQueryOf } from "../activity-query.ts"
import { knownOrg, makeForOperator } from "../operator.ts"
import { type PageQuery, pageOf } from "../page-query.ts"
import { makePlanLimits } from "../plan-limits.ts"
import { withLines } from "./activity.ts"
import { daysOf } from "./applications.ts"

export const adminActivityRoutes = HttpApiBuilder.group(
  Api,
  "adminActivity",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const summaries = yield* UsageSummaries
    const log = yield* ExchangeLog
    const open = yield* OpenCalls
    const auditLog = yield* AuditLog
    const catalogue = yield* Catalogue
    const health = yield* TargetHealth
    const tenants = yield* Tenants
    const directory = yield* Directory
    const curve = yield* PlanCurve
    const problems = yield* NodeProblems
    const { catalogueFile } = yield* WeirConfig

    /** The zone of an organisation; none for the whole gateway. */
    const zoneIn = (org: string | undefined) =>
      org === undefined
        ? Effect.undefined
        : Effect.map(tenants.org(org), (found) => found && (found.org.timeZone ?? utc8))

    const targets = Effect.sync(() => targetsOf(catalogue.current(), health))

    const catalogueText = Effect.gen(function* () {
      const { revision, text } = yield* catalogue.inForce
      const watchedFile =
        catalogueFile === undefined
          ? undefined
          : { path: catalogueFile, isInForce: yield* isWatchedText(catalogueFile, text) }
      return {
        revision: String(revision),
        ...(text !== undefined && { text }),
        ...(watchedFile !== undefined && { watchedFile }),
      } satisfies CatalogueText
    })

    const revisions = Effect.fnUntraced(function* (query: PageQuery) {
      const { limit, cursor } = yield* pageOf(query)
      const [before] = yield* numberOf(cursor)
      const rows = yield* catalogue.revisions.list(limit + 1, BigInt(before))
      return numberedPage(rows, limit, ({ revision }) => revision)
    })

    const revision = Effect.fnUntraced(function* (id: string, against: string | undefined) {
      const other = against === undefined ? catalogue.current().revision : revisionOf(against)
      const wanted = revisionOf(id)
      const found =
        wanted === undefined || other === undefined ? undefined : yield* catalogue.revisions.find(wanted, other)
      return found ?? (yield* serviceError("not_found", "The catalogue has no such revision"))
    })

    const planUsage = Effect.fnUntraced(function* (org: string, days: string | undefined) {
      yield* knownOrg(tenants, org)
      return yield* curve.of(org, yield* daysOf(days))
    })

    const planLimits = yield* makePlanLimits

    const models = Effect.map(directory.listsOfModels, (lists) => modelsOf(catalogue.current(), lists))

    return handlers
      .handleRaw("listModels", ({ request }) => forOperator(request, models))
      .handleRaw("listPlans", ({ request }) =>
        forOperator(
          request,
          Effect.sync((): AdminPlans => ({ data: catalogue.current().document.plans ?? [] })),
        ),
      )
      .handleRaw("adminPlanLimits", ({ request, params }) =>
        forOperator(
          request,
          Effect.flatMap(knownOrg(tenants, params.org), ({ org }) => planLimits(org)),
        ),
      )
      .handleRaw("adminUsageSummary", ({ request, query }) =>
        forOperator(
          request,
          Effect.flatMap(zoneIn(query.org), (zone) => Effect.flatMap(summaryQueryOf(query, zone), summaries.read)),
        ),
      )
      .handleRaw("adminExchanges", ({ request, query }) =>
        forOperator(
          request,
          Effect.flatMap(zoneIn(query.org), (zone) =>
            Effect.flatMap(Effect.zip(logFilterOf(query, zone), pageOf(query)), ([filter, page]) =>
              log.list(filter, page),
            ),
          ),
        ),
      )
      .handleRaw("adminOpenExchanges", ({ request, query }) =>
        forOperator(
          request,
          Effect.flatMap(ofOrg(query.org), (org) => open.list(org)),
        ),
      )
      .handleRaw("adminExchange", ({ request, params, query }) =>
        forOperator(
          request,
          Effect.flatMap(endOf(query), (atMs) =>
            Effect.map(log.find(params.org, params.id, atMs), (found) => withLines(catalogue.current(), found)),
          ),
        ),
      )
      .handleRaw("adminPlanUsage", ({ request, params, query }) =>
        forOperator(request, planUsage(params.org, query.days)),
      )
      .handleRaw("listProblems", ({ request }) =>
        forOperator(
          request,
          Effect.sync(() => ({ data: problems.list() })),
        ),
      )
      .handleRaw("listTargets", ({ request }) => forOperator(request, targets))
      .handleRaw("listPrices", ({ request }) =>
        forOperator(
          request,
          Effect.map(Clock.currentTimeMillis, (nowMs) => pricesOf(catalogue.current(), nowMs)),
        ),
      )
      .handleRaw("readCatalogue", ({ request }) => forOperator(request, catalogueText))
      .handleRaw("catalogueRevisions", ({ request, query }) => forOperator(request, revisions(query)))
      .handleRaw("catalogueRevision", ({ request, params, query }) =>
        forOperator(request, revision(params.revision, query.against)),
      )
      .handleRaw("adminAudit", ({ request, query }) =>
        forOperator(
          request,
          Effect.flatMap(ofOrg(query.org), (org) => auditPage(auditLog, query, org)),
        ),
      )
  }),
)

const revisionOf = (text: string): bigint | undefined => (/^\d{1,18}$/.test(text) ? BigInt(text) : undefined)

const isName = Schema.is(storedName(256))

const ofOrg = (org: string | undefined) =>
  org === undefined || isName(org)
    ? Effect.succeed(org)
    : Effect.fail(invalidInput([{ path: "org", message: "an id is required" }]))

const targetsOf = (snapshot: CatalogueSnapshot, health: TargetHealth["Service"]): Targets => {
  const handles = new Map<string, Array<string>>()
  const found = (snapshot.document.models ?? []).flatMap(({ handle }) =>
    (snapshot.model(handle)?.targets ?? []).map((target) => ({ handle, target })),
  )
  for (const { handle, target } of found) handles.set(target.key, [...(handles.get(target.key) ?? []), handle])
  const targets = new Map(found.map(({ target }) => [target.key, target]))
  return {
    data: [...targets].map(([key, { vendor, model }]) => {
      const target = { vendor: vendor.id, model, handles: handles.get(key) ?? [] }
      const cooldown = health.coolingDown(key, "nothing")
      if (cooldown === undefined) return { ...target, state: health.isSuspect(key) ? "suspect" : "healthy" }
      const { cause, untilMs, reason } = cooldown
      const until = new Date(untilMs).toISOString()
      return { ...target, state: "cooling down", cause, until, ...(reason !== undefined && { reason }) }
    }),
  }
}

const modelsOf = (snapshot: CatalogueSnapshot, lists: ReadonlyArray<ModelsOfOrgs>): AdminModels => ({
  data: (snapshot.document.models ?? []).map(({ handle, tags, kind = "chat", contextWindow, maxOutput, targets }) => ({
    handle,
    kind,
    ...listedApi(snapshot.model(handle)),
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
    targets: (targets ?? []).map(({ vendor, model }) => ({ vendor, model })),
    organisations: lists
      .filter(({ models }) => models === null || allowsModel({ org: { models } }, { handle, ...(tags && { tags }) }))
      .reduce((sum, { count }) => sum + count, 0),
  })),
})

const pricesOf = ({ document }: CatalogueSnapshot, nowMs: number): PriceList => {
  const newestFirst = [...(document.prices ?? [])].sort(
    (a, b) =>
      a.model.localeCompare(b.model) || a.currency.localeCompare(b.currency) || Date.parse(b.from) - Date.parse(a.from),
  )
  const inForce = new Set<string>()
  return {
    data: newestFirst.map(({ dims = {}, ...price }) => {
      const key = `${price.model} ${price.currency}`
      const isInForce = Date.parse(price.from) <= nowMs && !inForce.has(key)
      if (isInForce) inForce.add(key)
      return { ...price, isInForce, dims: { ...dims } }
    }),
  }
}
