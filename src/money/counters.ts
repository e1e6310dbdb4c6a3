/**
 * Counters: the amounts that are counted for an organisation, each with a name in the books. Money is counted by its
 * currency, without an end; tokens and budgets are counted in a period.
 */
import { type Period, periodOfDay } from "./periods.ts"

/** A counter by its name, with its period; money has none. */
export interface Counter {
  readonly counter: string
  readonly period?: Period | undefined
}

const tokensPrefix = "tokens:"
const budgetPrefix = "budget:"

let lastTokens: Counter = { counter: "" }

/** The counter of a day's tokens. The last one is remembered: nearly all settlements are of today. */
export const tokensOf = (day: string): Counter => {
  const counter = `${tokensPrefix}${day}`
  if (lastTokens.counter !== counter) lastTokens = { counter, period: periodOfDay(day) }
  return lastTokens
}

/** The account of a batch: in the books it holds money as a node does, and for as long as the batch runs. */
export const batchAccount = (id: string): string => `${batchPrefix}${id}`

export const isBatchAccount = (node: string): boolean => node.startsWith(batchPrefix)

const batchPrefix = "batch:"

/** Counters of anything else have a colon in their name. */
export const isMoney = (counter: string): boolean => !counter.includes(":")

/** The kind of a counter, for metrics: money by its currency. */
export const kindOf = (counter: string): string => {
  if (counter.startsWith(tokensPrefix)) return "tokens"
  return counter.startsWith(budgetPrefix) ? "budgets" : counter
}
