/** The path of an operation of a model. Ids and ARNs are encoded whole, with `:` and `/`. */
export const modelPath = (
  model: string,
  operation: "converse" | "converse-stream" | "invoke" | "invoke-with-response-stream",
): string => `/model/${encodeURIComponent(model)}/${operation}`
