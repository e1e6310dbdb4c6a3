/** The facts about the platform and organisations that budgets need. Its layer is `tenants/budget-directory.ts`. */
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { BudgetIndex, Subjects } from "./budget.ts"

export class BudgetDirectory extends Context.Service<
  BudgetDirectory,
  {
    /** The budgets of the catalogue in force. */
    readonly platform: () => BudgetIndex
    /** All subjects of each scope that an organisation has declared; people and end users may exist without being declared. */
    readonly subjects: (orgId: string) => Effect.Effect<Subjects, StoreUnavailable>
  }
>()("weir/money/BudgetDirectory") {}
