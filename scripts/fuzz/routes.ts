/** Routes with bodies: those of the OpenAPI document, with its examples, and those of other APIs. */
import type { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "../../src/protocol/api.ts"

type Json = Schema.Json

export interface FuzzedRoute {
  readonly method: string
  readonly path: string
  readonly example: Json
}

const methods = ["post", "put", "patch"] as const

const documented = (): ReadonlyArray<FuzzedRoute> =>
  Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, operations]) =>
    methods.flatMap((method) => {
      const media: unknown = operations[method]?.requestBody?.content?.["application/json"]
      if (typeof media !== "object" || media === null) return []
      const example: Json = JSON.parse(JSON.stringify("example" in media ? media.example : {})) ?? {}
      return [{ method: method.toUpperCase(), path: path.replaceAll(/\{(\w+)\}/g, "fuzzed_$1"), example }]
    }),
  )

const user = [{ role: "user", content: "Hi" }]
const tool = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }
const compatible: Readonly<Record<string, Json>> = {
  "/openai/v1/chat/completions": { model: "main", messages: user, tools: [tool], stop: ["x"], metadata: { a: "b" } },
  "/openai/v1/completions": { model: "main", prompt: "Hi" },
  "/openai/v1/responses": { model: "main", input: user, instructions: "Be brief", metadata: { a: "b" } },
  "/openai/v1/responses/input_tokens": { model: "main", input: user },
  "/openai/v1/embeddings": { model: "embed", input: ["a", "b"] },
  "/openai/v1/moderations": { model: "moderate", input: "a" },
  "/openai/v1/images/generations": { model: "draw", prompt: "a river" },
  "/openai/v1/images/edits": { model: "draw", prompt: "a river" },
  "/openai/v1/audio/speech": { model: "say", input: "Hi", voice: "alloy" },
  "/openai/v1/audio/transcriptions": { model: "hear" },
  "/openai/v1/videos": { model: "film", prompt: "a river" },
  "/openai/v1/realtime/client_secrets": { session: { type: "realtime", model: "talk" } },
  "/anthropic/v1/messages": { model: "claude-x", max_tokens: 10, messages: user, system: "Be brief" },
  "/anthropic/v1/messages/count_tokens": { model: "claude-x", messages: user },
  "/gemini/v1beta/models/main:generateContent": { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
  "/gemini/v1alpha/auth_tokens": {
    uses: 1,
    fieldMask: "model",
    bidiGenerateContentSetup: { model: "models/talk-google" },
  },
  "/gemini/v1beta/models/main:countTokens": { contents: [{ parts: [{ text: "Hi" }] }] },
  "/gemini/v1beta/models/embed:embedContent": { content: { parts: [{ text: "a" }] } },
  "/gemini/v1beta/models/embed:batchEmbedContents": {
    requests: [{ model: "models/embed", content: { parts: [{ text: "a" }] } }],
  },
  "/cohere/v2/embed": { model: "embed", texts: ["a"], input_type: "search_query" },
  "/openai/v1/vector_stores": { name: "Rivers", metadata: { a: "b" }, file_ids: ["file-1"] },
  "/cohere/v2/rerank": { model: "rank", query: "q", documents: ["a", "b"] },
}

export const fuzzedRoutes = (): ReadonlyArray<FuzzedRoute> => [
  ...documented(),
  ...Object.entries(compatible).map(([path, example]) => ({ method: "POST", path, example })),
]
