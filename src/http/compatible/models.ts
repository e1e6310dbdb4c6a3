/** The models of a caller in each API's own form, so that clients choose limits themselves. */
import type { ModelEntry } from "../../catalogue/snapshot.ts"

type Model = ModelEntry["model"]

/** The time of creation in lists; models have none. */
const epochS = 0
const epoch = new Date(epochS).toISOString()

export interface ModelForm {
  readonly one: (model: Model) => object
  readonly list: (models: ReadonlyArray<Model>) => object
}

const capabilitiesOf = ({ capabilities = [] }: Model) => capabilities

/** https://platform.openai.com/docs/api-reference/models/object; limits are beside its own fields. */
const openaiModel = (model: Model) => ({
  id: model.handle,
  object: "model",
  created: epochS,
  owned_by: "weir",
  context_window: model.contextWindow ?? null,
  max_output_tokens: model.maxOutput ?? null,
  capabilities: capabilitiesOf(model),
})

/** https://docs.anthropic.com/en/api/models-list */
const anthropicModel = (model: Model) => {
  const has = (capability: string) => ({ supported: capabilitiesOf(model).some((one) => one === capability) })
  return {
    type: "model",
    id: model.handle,
    display_name: model.handle,
    created_at: epoch,
    max_input_tokens: model.contextWindow ?? null,
    max_tokens: model.maxOutput ?? null,
    capabilities: { image_input: has("images"), pdf_input: has("files"), thinking: has("reasoning") },
  }
}

/** https://ai.google.dev/api/models#Model */
const geminiModel = (model: Model) => ({
  name: `models/${model.handle}`,
  baseModelId: model.handle,
  version: "1",
  displayName: model.handle,
  ...(model.contextWindow !== undefined && { inputTokenLimit: model.contextWindow }),
  ...(model.maxOutput !== undefined && { outputTokenLimit: model.maxOutput }),
  supportedGenerationMethods:
    model.kind === "embedding"
      ? ["embedContent", "batchEmbedContents"]
      : ["generateContent", "streamGenerateContent", "countTokens"],
  thinking: capabilitiesOf(model).some((one) => one === "reasoning"),
})

const cohereEndpoints: Readonly<Partial<Record<NonNullable<Model["kind"]>, string>>> = {
  chat: "chat",
  embedding: "embed",
  rerank: "rerank",
}

/** https://docs.cohere.com/reference/get-model */
const cohereModel = (model: Model) => {
  const endpoint = cohereEndpoints[model.kind ?? "chat"]
  return {
    name: model.handle,
    is_deprecated: false,
    endpoints: endpoint === undefined ? [] : [endpoint],
    finetuned: false,
    ...(model.contextWindow !== undefined && { context_length: model.contextWindow }),
    default_endpoints: [],
  }
}

export const openaiModels: ModelForm = {
  one: openaiModel,
  list: (models) => ({ object: "list", data: models.map(openaiModel) }),
}

export const anthropicModels: ModelForm = {
  one: anthropicModel,
  list: (models) => ({
    data: models.map(anthropicModel),
    has_more: false,
    first_id: models[0]?.handle ?? null,
    last_id: models.at(-1)?.handle ?? null,
  }),
}

export const geminiModels: ModelForm = {
  one: geminiModel,
  list: (models) => ({ models: models.map(geminiModel) }),
}

export const cohereModels: ModelForm = {
  one: cohereModel,
  list: (models) => ({ models: models.map(cohereModel) }),
}
