/**
 * The dialect `bedrock`: Converse and ConverseStream for chat, InvokeModel for embeddings and rerank.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html
 */
import { Result } from "effect"
import type { Dialect } from "../dialect.ts"
import { parseObject, stringAt } from "../json.ts"
import type { VendorDialect } from "../vendor-dialect.ts"
import type { VendorAccess } from "../wire.ts"
import { bedrockEmbedding } from "./embedding.ts"
import { modelPath } from "./model-path.ts"
import { bedrockRerank } from "./rerank.ts"
import { decodeBody, decodeStream } from "./vendor-reply.ts"
import { encodeConverse } from "./vendor-request.ts"

/** Failures of the model itself come as client errors: 408 ModelTimeoutException, 424 ModelErrorException. */
const modelFailures: Readonly<Record<number, number>> = { 408: 504, 424: 502 }

const access: VendorAccess = {
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  decodeError: (status, body) => {
    const type = stringAt(parseObject(body), "__type")
    return { status: modelFailures[status] ?? status, code: type?.split("#").at(-1) ?? `status_${status}` }
  },
}

export const bedrockChat: Dialect = {
  ...access,
  encode: (request) =>
    Result.map(encodeConverse(request), (body) => ({
      path: modelPath(request.model, request.stream ? "converse-stream" : "converse"),
      headers: { accept: request.stream ? "application/vnd.amazon.eventstream" : "application/json" },
      body: JSON.stringify(body),
    })),
  canSearch: () => false,
  decoder: decodeStream,
  decodeBody,
}

export const bedrock: VendorDialect = {
  ...access,
  chat: bedrockChat,
  embedding: bedrockEmbedding,
  rerank: bedrockRerank,
}
