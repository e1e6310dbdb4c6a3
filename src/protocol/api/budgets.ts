/** Routes of budgets. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Budget, BudgetTerms } from "../catalogue/budget.ts"
import { BudgetAdjustment, BudgetState, Budgets } from "../control/budget.ts"
import { PathId } from "../values/text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { bearerHeaders } from "./parameters.ts"

export class BudgetRoutes extends HttpApiGroup.make("budgets")
  .add(
    HttpApiEndpoint.get("organisationBudgets", "/v1/budgets", {
      headers: bearerHeaders,
      success: Budgets,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List budgets and what is left of them",
        description: [
          "Owners and admins get all of the organisation: those that name it or a subject of it, and those of which",
          "something was used in the present period. Members get those that cover them.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.put("setBudget", "/v1/budgets/:id", {
      headers: bearerHeaders,
      params: { id: PathId },
      payload: BudgetTerms,
      success: Budget,
      error: errorsOf([...everywhere, ...bearerErrors, "limit_exceeded"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set a budget of the organisation's own",
        description: [
          "Requires owner or admin. It holds beside the platform's budgets, whose limit for the same subject, unit and",
          "period it may not exceed. Audited.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("adjustBudget", "/v1/budgets/:id/adjust", {
      headers: bearerHeaders,
      params: { id: PathId },
      payload: BudgetAdjustment,
      success: BudgetState,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Reset or raise a budget of the organisation's own in its present period",
        description: "Requires owner or admin. Audited.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("removeBudget", "/v1/budgets/:id", {
      headers: bearerHeaders,
      params: { id: PathId },
      success: HttpApiSchema.NoContent,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Remove a budget of the organisation's own",
        description: "Requires owner or admin. Audited.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Budgets", description: "Limits of what subjects may spend in a period" }),
  ) {}
