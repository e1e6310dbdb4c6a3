/** The units that a model of a kind is billed by. Pure. */
import { hasUnitPrice, type Price, type Unit } from "../money/pricing.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"

/** The prices that a list must state to be charged for a kind, in words; undefined if it does. */
export const lackingPrice = (kind: ModelKind, price: Price): string | undefined => {
  const { lacks = [], dims } = price
  const inUnits = (unit: Unit, inTokens: boolean) =>
    inTokens || hasUnitPrice(price, unit) ? undefined : `dims.${unit}, or tokens`
  switch (kind) {
    case "chat":
    case "realtime":
      return lacks.length > 0 ? "input and output" : undefined
    case "rerank":
      return lacks.includes("input") && dims["searches"] === undefined ? "input, or dims.searches" : undefined
    case "embedding":
    case "moderation":
      return lacks.includes("input") ? "input" : undefined
    case "image":
      return inUnits("images", lacks.length === 0)
    case "video":
      return hasUnitPrice(price, "video_seconds") ? undefined : "dims.video_seconds"
    case "speech":
      return inUnits("characters", !lacks.includes("input") && hasOutput(price, "audio_out"))
    case "transcription":
      return inUnits("audio_seconds", hasInput(price, "audio_in") && !lacks.includes("output"))
  }
}

const hasInput = ({ lacks = [], dims }: Price, part: string): boolean =>
  !lacks.includes("input") || dims[part] !== undefined
const hasOutput = ({ lacks = [], dims }: Price, part: string): boolean =>
  !lacks.includes("output") || dims[part] !== undefined
