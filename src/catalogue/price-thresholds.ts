/** Whether the prices of long inputs can be charged: thresholds rise, and each states only what the price itself states. Pure. */

import type { PriceAbove, PriceEntry } from "../protocol/catalogue/price.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"

interface ThresholdProblem {
  /** The path within the price. */
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

/** Kinds whose usage is that of one call to a vendor; long inputs of others are sent in parts. */
const kinds: ReadonlySet<ModelKind> = new Set<ModelKind>(["chat", "realtime"])

export const thresholdProblems = (price: PriceEntry, kind: ModelKind): ReadonlyArray<ThresholdProblem> => {
  const { above } = price
  if (above === undefined) return []
  if (!kinds.has(kind))
    return [{ path: ["above"], message: `prices of kind ${kind} do not depend on the input's length` }]
  return above.flatMap((step, at) => {
    const before = above[at - 1]?.tokens ?? 0
    const { tokens: _, ...stated } = step
    return [
      ...(step.tokens > before || at === 0
        ? []
        : [{ path: ["above", at, "tokens"], message: `is not above ${before}` }]),
      ...(pricesIn(stated).length > 0 ? [] : [{ path: ["above", at], message: "states no price" }]),
      ...pricesIn(stated)
        .filter((path) => !has(price, path))
        .map((path) => ({ path: ["above", at, ...path], message: `the price itself states no ${path.join(".")}` })),
    ]
  })
}

type Stated = Omit<PriceAbove, "tokens">

/** The names of the prices that are stated, such as `input` or `dims.reasoning`. */
const pricesIn = ({ dims, tiers, ...others }: Stated): ReadonlyArray<ReadonlyArray<string>> => [
  ...Object.keys(others).map((name) => [name]),
  ...Object.keys(dims ?? {}).map((name) => ["dims", name]),
  ...Object.keys(tiers ?? {}).map((name) => ["tiers", name]),
]

const has = ({ dims, tiers, ...others }: PriceEntry, [name = "", part = ""]: ReadonlyArray<string>): boolean => {
  if (name === "dims") return dims !== undefined && Object.hasOwn(dims, part)
  return name === "tiers" ? tiers !== undefined && Object.hasOwn(tiers, part) : Object.hasOwn(others, name)
}
