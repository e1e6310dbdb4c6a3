/** What budgets must know of the platform and of organisations. Its layer is `tenants/budget-directory.ts`. */
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { BudgetIndex, Subjects } from "./budget.ts"

export class BudgetDirectory extends Context.Service<
  BudgetDirectory,
  {
    /** The budgets of the catalogue in force. */
    readonly platform: () => BudgetIndex
    /** All that an organisation has of each scope; people and end users come without being declared too. */
    readonly subjects: (orgId: string) => Effect.Effect<Subjects, StoreUnavailable>
  }
>()("weir/money/BudgetDirectory") {}
