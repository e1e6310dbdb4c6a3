/**
 * The dialect `bedrock`: Converse and ConverseStream for chat, InvokeModel for embeddings and rerank.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html
 */
import { Result } from "effect"
import { writeJson } from "../../protocol/json/json-text.ts"
import { effortOf } from "../anthropic/thinking.ts"
import type { ChatDialect } from "../chat-dialect.ts"
import type { Dialect } from "../dialect.ts"
import { makersName } from "../vendor/family.ts"
import { fitsModel } from "../vendor/requirements.ts"
import { bedrockEmbedding } from "./embedding.ts"
import { familyOf } from "./families.ts"
import { bedrockAccess } from "./faults.ts"
import { modelPath } from "./model-path.ts"
import { bedrockRequirements } from "./requirements.ts"
import { bedrockRerank } from "./rerank.ts"
import { decodeBody, decodeStream } from "./vendor-reply.ts"
import { encodeConverse, marksTools } from "./vendor-request.ts"

export const bedrockChat: ChatDialect = {
  ...bedrockAccess,
  encode: (request) =>
    Result.map(encodeConverse(request), (body) => ({
      path: modelPath(request.model, request.stream ? "converse-stream" : "converse"),
      headers: { accept: request.stream ? "application/vnd.amazon.eventstream" : "application/json" },
      body: writeJson(body),
    })),
  fit: fitsModel(bedrockRequirements),
  hasWords: (request) => {
    const family = familyOf(request)
    const isClaude = family === "claude"
    return {
      detail: false,
      effort: isClaude && effortOf(makersName(request), request.effort) !== undefined,
      display: isClaude,
      marks: marksTools(family) ? "everywhere" : "blocks",
    }
  },
  canSearch: () => false,
  decoder: decodeStream,
  decodeBody,
}

export const bedrock: Dialect = {
  ...bedrockAccess,
  chat: bedrockChat,
  embedding: bedrockEmbedding,
  rerank: bedrockRerank,
}
