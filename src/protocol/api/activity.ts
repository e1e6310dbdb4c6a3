/** Routes of an organisation's usage over time, its exchanges and its audit log. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AuditEntries } from "../control/activity.ts"
import { ExchangeDetail, ExchangeLogPage, OpenExchanges } from "../control/exchange-log.ts"
import { OwnModels } from "../control/model-list.ts"
import { PlanLimits } from "../control/plan-usage.ts"
import { UsageSummary } from "../control/usage-summary.ts"
import { PathId } from "../values/text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { auditQuery, bearerHeaders, exchangeQuery, pageQuery, parameter, summaryQuery } from "./parameters.ts"

const own = { headers: bearerHeaders, error: errorsOf([...everywhere, ...bearerErrors]) }
const byRole = "Owners and admins get all of the organisation, members what their own tokens used."

export class Activity extends HttpApiGroup.make("activity")
  .add(
    HttpApiEndpoint.get("usageSummary", "/v1/usage-summary", {
      ...own,
      query: summaryQuery,
      success: UsageSummary,
    }).annotateMerge(OpenApi.annotations({ summary: "Get usage over time and by one dimension", description: byRole })),
  )
  .add(
    HttpApiEndpoint.get("listExchanges", "/v1/exchanges", {
      ...own,
      query: { ...pageQuery, ...exchangeQuery },
      success: ExchangeLogPage,
    }).annotateMerge(
      OpenApi.annotations({ summary: "List exchanges that have ended, newest first", description: byRole }),
    ),
  )
  .add(
    HttpApiEndpoint.get("openExchanges", "/v1/open-exchanges", { ...own, success: OpenExchanges }).annotateMerge(
      OpenApi.annotations({ summary: "List exchanges that run now", description: byRole }),
    ),
  )
  .add(
    HttpApiEndpoint.get("readExchange", "/v1/exchanges/:id", {
      ...own,
      params: { id: PathId },
      query: { at: parameter("The time when it ended, as in the list; required") },
      success: ExchangeDetail,
    }).annotateMerge(OpenApi.annotations({ summary: "Get one exchange from end to end", description: byRole })),
  )
  .add(
    HttpApiEndpoint.get("listAudit", "/v1/audit", {
      ...own,
      query: { ...pageQuery, ...auditQuery },
      success: AuditEntries,
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the organisation's audit entries, newest first",
        description: "Requires owner or admin.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("ownModels", "/v1/models", { ...own, success: OwnModels }).annotateMerge(
      OpenApi.annotations({ summary: "List the models that the organisation may call" }),
    ),
  )
  .add(
    HttpApiEndpoint.get("planLimits", "/v1/plan", { ...own, success: PlanLimits }).annotateMerge(
      OpenApi.annotations({ summary: "Get the organisation's plan and its limits" }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Activity", description: "Usage over time, exchanges and audit entries" }),
  ) {}
