/** Real arguments for methods of Cohere's SDK. */
import type { Uses } from "./prepared.ts"

const messages = [{ role: "user", content: "Hello, river" }]
const texts = { model: "embed", texts: ["a river"], inputType: "search_document" }
const ranked = { model: "rank", query: "a river", documents: ["a river", "a weir"] }

export const cohereUses = (): Uses => ({
  chat: () => [{ model: "main", message: "Hello, river" }],
  chatStream: () => [{ model: "main", message: "Hello, river" }],
  embed: () => [texts],
  rerank: () => [ranked],
  "v2.chat": () => [{ model: "main", messages }],
  "v2.chatStream": () => [{ model: "main", messages }],
  "v2.embed": () => [{ ...texts, embeddingTypes: ["float"] }],
  "v2.rerank": () => [ranked],
  "models.get": () => ["main"],
})
