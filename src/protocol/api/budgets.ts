/** Routes of budgets. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Budgets } from "../budget.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { bearerHeaders } from "./headers.ts"

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
  .annotateMerge(OpenApi.annotations({ title: "Budgets", description: "What subjects may spend in a period" })) {}
