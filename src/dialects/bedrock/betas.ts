/** Features of Claude that a body asks for at Amazon Bedrock. Source: Anthropic, "Claude on Amazon Bedrock". */
import type { JsonObject } from "../parse/json.ts"

/** The names in a body, or in the fields of a model in Converse. */
export const betasIn = ({ anthropic_beta: names }: JsonObject): ReadonlyArray<string> =>
  Array.isArray(names) ? names.filter((name) => typeof name === "string") : []
