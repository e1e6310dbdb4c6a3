/** The ways in which Gemini's models take thinking: up to 2.5 by a budget of tokens, later ones by a level. */
import type { ReasoningLevel } from "../../protocol/exchange.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import { makersName } from "../vendor/family.ts"
import type { ModelRule } from "../vendor/model-rules.ts"

export const thinkingDocs = "https://ai.google.dev/gemini-api/docs/thinking"

const threeLevels: ReadonlyArray<ReasoningLevel> = ["low", "medium", "high"]

export const geminiModels: ReadonlyArray<ModelRule> = [
  { names: /gemini-(1|2\.0)/, levels: [] },
  { names: /gemini-3-pro/, levels: ["low", "high"] },
  { names: /gemini-3\.\d+-pro|gemini-3\.7-flash/, levels: threeLevels },
  { names: /gemini-3(\.\d+)?-flash/, levels: ["minimal", ...threeLevels] },
]

interface Budgets {
  readonly least: number
  readonly most: number
  /** Whether thinking can be turned off. */
  readonly hasOff: boolean
}

/** The first row that fits counts. */
const budgets: ReadonlyArray<readonly [names: RegExp, budgets: Budgets]> = [
  [/gemini-2\.5-pro/, { least: 128, most: 32_768, hasOff: false }],
  [/gemini-2\.5-flash-lite/, { least: 512, most: 24_576, hasOff: true }],
  [/gemini-2\.5-flash/, { least: 1, most: 24_576, hasOff: true }],
]

/** Undefined if the model is not known, or thinks by a level. */
export const budgetsOf = (request: Pick<VendorRequest, "model" | "family">): Budgets | undefined => {
  const name = makersName(request)
  return budgets.find(([names]) => names.test(name))?.[1]
}

/** The budget within what the model takes; -1 leaves it to the model. */
export const budgetWithin = (budget: number, { least, most, hasOff }: Budgets): number =>
  budget < 0 || (budget === 0 && hasOff) ? budget : Math.min(Math.max(budget, least), most)
