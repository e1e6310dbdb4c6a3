/** Real arguments for methods of Cohere's SDK. */
import { wavOf } from "../../test/support/media-samples.ts"
import type { Uses } from "./prepared.ts"

const messages = [{ role: "user", content: "Hello, river" }]
const texts = { model: "embed", texts: ["a river"], inputType: "search_document" }
const ranked = { model: "rank", query: "a river", documents: ["a river", "a weir"] }

export const cohereUses = (): Uses => ({
  chat: async () => [{ model: "main", message: "Hello, river" }],
  chatStream: async () => [{ model: "main", message: "Hello, river" }],
  embed: async () => [texts],
  rerank: async () => [ranked],
  "v2.chat": async () => [{ model: "main", messages }],
  "v2.chatStream": async () => [{ model: "main", messages }],
  "v2.embed": async () => [{ ...texts, embeddingTypes: ["float"] }],
  "v2.rerank": async () => [ranked],
  "models.get": async () => ["main"],
  "audio.transcriptions.create": async () => [new Blob([new Uint8Array(wavOf(1))]), { model: "hear", language: "en" }],
})
