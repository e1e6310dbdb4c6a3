/** The problems of a declared route that the form of its fields does not show. Pure. */
import { parseAmount } from "../money/amount.ts"
import type { PassThrough } from "../protocol/catalogue/pass-through.ts"
import { isWithinMoney, mostMoney } from "../protocol/values/bounds.ts"
import { parsePattern } from "./route-path.ts"
import { readRoutePrices } from "./route-price.ts"

interface Problem {
  readonly path: ReadonlyArray<string>
  readonly message: string
}

export const routeProblems = ({ path, mount, price, hold, usage = {} }: PassThrough): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const { segments } = parsePattern(path)
  // A route for everything would pass calls that have dialects, with their prices.
  if (segments[0] === undefined || segments[0] === "*") {
    problems.push({ path: ["path"], message: "begins with a name: name what is passed" })
  }
  if (mount === "anthropic" && segments[0] !== "v1") {
    problems.push({ path: ["path"], message: "begins with /v1, as all paths of this API do" })
  }
  if (price === "free") {
    if (hold !== undefined) problems.push({ path: ["hold"], message: "is not needed: the route is free" })
    return problems
  }
  if (hold === undefined) problems.push({ path: ["hold"], message: "is missing: the most that a call costs" })
  for (const [unit, amount] of Object.entries(price)) {
    if (unit !== "currency" && !isWithinMoney(amount)) {
      problems.push({ path: ["price", unit], message: `is more than ${mostMoney}` })
    }
  }
  if (hold !== undefined && !isWithinMoney(hold))
    problems.push({ path: ["hold"], message: `is more than ${mostMoney}` })
  const { call = 0n } = readRoutePrices(price) ?? {}
  if (hold !== undefined && (parseAmount(hold) ?? 0n) < call) {
    problems.push({ path: ["hold"], message: "is less than the price of a call" })
  }
  for (const unit of readRoutePrices(price)?.reported.keys() ?? []) {
    if (usage[unit] === undefined) {
      problems.push({
        path: ["price", unit],
        message: "is no call, second or megabyte, and usage names no place of it",
      })
    }
  }
  return problems
}
