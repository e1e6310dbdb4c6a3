/**
 * What a model of Bedrock is, by its id: `anthropic.claude-…`, with a region before it (`us.anthropic.…`) for an
 * inference profile. The ARN of a profile of one's own tells nothing. Source:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html
 */
export type ModelFamily = "claude" | "nova" | "gpt-oss" | "qwen" | "other" | "unknown"

const families: ReadonlyArray<readonly [pattern: RegExp, family: ModelFamily]> = [
  [/anthropic\.claude/, "claude"],
  [/amazon\.nova-[2-9]/, "nova"],
  [/openai\.gpt-oss/, "gpt-oss"],
  [/qwen\.qwen/, "qwen"],
]

export const familyOf = (model: string): ModelFamily => {
  const found = families.find(([pattern]) => pattern.test(model))
  if (found !== undefined) return found[1]
  return model.startsWith("arn:") && !model.includes("foundation-model/") ? "unknown" : "other"
}

/** Whether the model can answer by a JSON Schema: Claude from 4.5, and open models; not Nova, Llama and older ones. */
export const takesOutput = (model: string, claudeVersion: number): boolean => {
  const family = familyOf(model)
  if (family === "claude") return claudeVersion >= 4.5
  return !/(amazon|meta|cohere|ai21|writer|luma|stability)\./.test(model)
}
