/** What a model of a kind is billed by. Source: calls "Kinds". Pure. */
import type { Price } from "../money/pricing.ts"
import type { ModelKind } from "../protocol/call-kind.ts"

/** The prices that a list must state to be charged for a kind, in words; undefined if it does. */
export const lackingPrice = (kind: ModelKind, { lacks = [], dims }: Price): string | undefined => {
  switch (kind) {
    case "chat":
      return lacks.length > 0 ? "input and output" : undefined
    case "rerank":
      return lacks.includes("input") && dims["searches"] === undefined ? "input, or dims.searches" : undefined
    case "embedding":
    case "moderation":
      return lacks.includes("input") ? "input" : undefined
  }
}
