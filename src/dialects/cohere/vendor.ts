/** The dialect `cohere`: chat, embeddings and reranking by its API v2. Source: https://docs.cohere.com/reference */
import { Result } from "effect"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { ChatDialect } from "../chat-dialect.ts"
import type { Dialect } from "../dialect.ts"
import type { VendorAccess } from "../wire.ts"
import { cohereEmbedding } from "./embedding.ts"
import { cohereRefusal } from "./faults.ts"
import { cohereRerank } from "./rerank.ts"
import { decodeBody, decodeStream } from "./vendor-reply.ts"
import { encodeChat } from "./vendor-request.ts"

const access: VendorAccess = {
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  decodeError: cohereRefusal,
}

export const cohereChat: ChatDialect = {
  ...access,
  encode: (request) =>
    Result.map(encodeChat(request), (body) => ({
      path: "/v2/chat",
      headers: { accept: request.stream ? "text/event-stream" : "application/json" },
      body: writeJson(body),
    })),
  hasWords: () => ({ detail: true, effort: false, display: false }),
  canSearch: () => false,
  decoder: decodeStream,
  decodeBody,
}

export const cohere: Dialect = {
  ...access,
  chat: cohereChat,
  embedding: cohereEmbedding,
  rerank: cohereRerank,
}
