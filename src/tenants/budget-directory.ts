/** The directory of budgets: the platform's from the catalogue, and the subjects of organisations. */
import { Effect, Layer } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import { BudgetDirectory } from "../money/budgets/budget-directory.ts"
import { People } from "./people.ts"

export const layerBudgetDirectory = Layer.effect(
  BudgetDirectory,
  Effect.gen(function* () {
    const catalogue = yield* Catalogue
    const { subjects } = yield* People
    return BudgetDirectory.of({ platform: () => catalogue.current().budgets, subjects })
  }),
)
