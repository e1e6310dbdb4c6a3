/**
 * The family of a Bedrock model, by its id: `anthropic.claude-…`, with a region before it (`us.anthropic.…`) for an inference
 * profile. The ARN of a custom profile does not show the family. Source:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html
 */
import type { VendorRequest } from "../chat-dialect.ts"

type Named = Pick<VendorRequest, "model" | "family">

export type ModelFamily = "claude" | "nova" | "gpt-oss" | "qwen" | "other" | "unknown"

const families: ReadonlyArray<readonly [pattern: RegExp, family: ModelFamily]> = [
  [/(^|anthropic\.)claude/, "claude"],
  [/amazon\.nova-[2-9]/, "nova"],
  [/openai\.gpt-oss/, "gpt-oss"],
  [/qwen\.qwen/, "qwen"],
]

export const familyOf = (request: Named): ModelFamily => {
  const model = request.family ?? request.model
  const found = families.find(([pattern]) => pattern.test(model))
  if (found !== undefined) return found[1]
  return model.startsWith("arn:") && !model.includes("foundation-model/") ? "unknown" : "other"
}

/** Whether the model can answer by a JSON Schema: Claude from 4.5, and open models; not Nova, Llama and older ones. */
export const takesOutput = (request: Named, claudeVersion: number): boolean => {
  const family = familyOf(request)
  if (family === "claude") return claudeVersion >= 4.5
  return !/(amazon|meta|cohere|ai21|writer|luma|stability)\./.test(request.family ?? request.model)
}

/**
 * The ways in which models can be made to call a tool: any of them, or one by its name; for models of publishers that are not
 * listed, both are tried. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html
 */
const choices: ReadonlyArray<readonly [pattern: RegExp, choices: ReadonlyArray<"any" | "tool">]> = [
  [/(^|anthropic\.)claude|amazon\.nova/, ["any", "tool"]],
  [/mistral\.mistral-large/, ["any"]],
  [/(meta|cohere|ai21|amazon|deepseek|writer|mistral|openai|qwen)\./, []],
]

/** Undefined if the model is not known. */
export const choicesOf = (request: Named): ReadonlyArray<"any" | "tool"> | undefined => {
  const name = request.family ?? request.model
  return choices.find(([pattern]) => pattern.test(name))?.[1]
}
