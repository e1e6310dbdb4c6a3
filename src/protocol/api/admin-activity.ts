/** Admin routes of usage over time, exchanges, targets, prices, the catalogue's text and history, and the audit log. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  AuditEntries,
  CatalogueRevision,
  CatalogueRevisions,
  CatalogueText,
  PriceList,
  Targets,
} from "../control/activity.ts"
import { ExchangeDetail, ExchangeLogPage, OpenExchanges } from "../control/exchange-log.ts"
import { AdminModels, AdminPlans } from "../control/model-list.ts"
import { NodeProblemList } from "../control/node-problem.ts"
import { PlanLimits, PlanUsage } from "../control/plan-usage.ts"
import { UsageSummary } from "../control/usage-summary.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { auditQuery, exchangeQuery, adminHeaders as headers, pageQuery, parameter, summaryQuery } from "./parameters.ts"

const errors = [...everywhere, "admin_key_invalid"] as const
const reading = { headers, error: errorsOf(errors) }
const ofOrg = { headers, error: errorsOf([...errors, "not_found"]) }
const org = parameter("Only of this organisation")
const summary = (text: string) => OpenApi.annotations({ summary: text })

export class AdminActivity extends HttpApiGroup.make("adminActivity")
  .add(
    HttpApiEndpoint.get("adminUsageSummary", "/v1/admin/usage-summary", {
      ...reading,
      query: { ...summaryQuery, org },
      success: UsageSummary,
    }).annotateMerge(summary("Get usage over time and by one dimension")),
  )
  .add(
    HttpApiEndpoint.get("adminExchanges", "/v1/admin/exchanges", {
      ...reading,
      query: { ...pageQuery, ...exchangeQuery, org },
      success: ExchangeLogPage,
    }).annotateMerge(summary("List exchanges that have ended, newest first")),
  )
  .add(
    HttpApiEndpoint.get("adminOpenExchanges", "/v1/admin/open-exchanges", {
      ...reading,
      query: { org },
      success: OpenExchanges,
    }).annotateMerge(summary("List exchanges that run now, on all nodes")),
  )
  .add(
    HttpApiEndpoint.get("adminExchange", "/v1/admin/orgs/:org/exchanges/:id", {
      ...ofOrg,
      params: { org: PathId, id: PathId },
      query: { at: parameter("The time when it ended, as in the list; required") },
      success: ExchangeDetail,
    }).annotateMerge(summary("Get one exchange from end to end")),
  )
  .add(
    HttpApiEndpoint.get("adminPlanUsage", "/v1/admin/orgs/:org/plan-usage", {
      ...ofOrg,
      params: { org: PathId },
      query: { days: parameter("1 to 90, 30 if absent") },
      success: PlanUsage,
    }).annotateMerge(summary("Get an organisation's hourly peaks of concurrency")),
  )
  .add(
    HttpApiEndpoint.get("adminPlanLimits", "/v1/admin/orgs/:org/plan", {
      ...ofOrg,
      params: { org: PathId },
      success: PlanLimits,
    }).annotateMerge(summary("Get an organisation's plan and its limits")),
  )
  .add(
    HttpApiEndpoint.get("listTargets", "/v1/admin/targets", { ...reading, success: Targets }).annotateMerge(
      summary(
        "List vendors and models with their health: cooldowns of all nodes that share a Redis, suspicions of this one",
      ),
    ),
  )
  .add(
    HttpApiEndpoint.get("listModels", "/v1/admin/models", { ...reading, success: AdminModels }).annotateMerge(
      summary("List models with their targets and the number of organisations that may call them"),
    ),
  )
  .add(
    HttpApiEndpoint.get("listPlans", "/v1/admin/plans", { ...reading, success: AdminPlans }).annotateMerge(
      summary("List plans with their limits"),
    ),
  )
  .add(
    HttpApiEndpoint.get("listPrices", "/v1/admin/prices", { ...reading, success: PriceList }).annotateMerge(
      summary("List prices with their history"),
    ),
  )
  .add(
    HttpApiEndpoint.get("listProblems", "/v1/admin/problems", { ...reading, success: NodeProblemList }).annotateMerge(
      summary("List problems of the node that answers, such as a refused file, although it serves calls"),
    ),
  )
  .add(
    HttpApiEndpoint.get("readCatalogue", "/v1/admin/catalogue", { ...reading, success: CatalogueText }).annotateMerge(
      summary("Get the text of the catalogue in force"),
    ),
  )
  .add(
    HttpApiEndpoint.get("catalogueRevisions", "/v1/admin/catalogue/revisions", {
      ...reading,
      query: pageQuery,
      success: CatalogueRevisions,
    }).annotateMerge(summary("List revisions of the catalogue, newest first")),
  )
  .add(
    HttpApiEndpoint.get("catalogueRevision", "/v1/admin/catalogue/revisions/:revision", {
      ...ofOrg,
      params: { revision: PathId },
      query: { against: parameter("The revision with which it is compared; the one in force if absent") },
      success: CatalogueRevision,
    }).annotateMerge(summary("Get the text of a revision of the catalogue, and what differs in it from another")),
  )
  .add(
    HttpApiEndpoint.get("adminAudit", "/v1/admin/audit", {
      ...reading,
      query: { ...pageQuery, ...auditQuery, org },
      success: AuditEntries,
    }).annotateMerge(summary("List audit entries, newest first")),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Administration: activity",
      description: "Usage over time, exchanges, targets, prices, catalogue and audit log; requires the admin key",
    }),
  ) {}
