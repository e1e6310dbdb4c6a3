/** Claude's thinking and effort as clients ask for them, in Anthropic's own API and in those of clouds. */
import type { Effort } from "../../protocol/exchange.ts"
import { all, carried, type FieldReader, type FieldTable, isAbsent } from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"

const thinkingFields: FieldTable = all(carried, "type", "budget_tokens", "display")

const efforts: Readonly<Record<string, Effort>> = {
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "max",
}

/** The part of a model's thoughts that is shown. */
const displays = { summarized: "summary", omitted: "omitted" } as const

/** The values of the two fields. */
interface Asked {
  readonly thinking: unknown
  readonly effort: unknown
}

/**
 * A model of today thinks by effort; an older client names a budget. Effort counts without thinking too.
 *
 * @param names the fields' names in their API
 */
export const reasoningOf = (
  reader: FieldReader,
  asked: Asked,
  names = { thinking: "thinking", effort: "output_config.effort" },
): JsonObject => {
  const effort = reader.word(efforts, asked.effort, names.effort)
  if (isAbsent(asked.thinking)) return { effort }
  const thinking = reader.checked(thinkingFields, asked.thinking, names.thinking)
  const reasoningDisplay = reader.word(displays, thinking["display"], `${names.thinking}.display`)
  switch (thinking["type"]) {
    case "disabled":
      return { reasoning: "off", effort }
    case "adaptive":
      return { reasoning: effort ?? "high", reasoningDisplay }
    case "enabled":
      return { reasoningBudget: thinking["budget_tokens"], effort, reasoningDisplay }
    default:
      reader.lacks(`${names.thinking}.type`, "must be adaptive, enabled or disabled")
      return {}
  }
}
