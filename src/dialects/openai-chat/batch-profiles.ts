/** Vendors with OpenAI's API of batches: their endpoints and limits. Each entry names the documentation that it follows. */
import type { ChatProfileName } from "../../protocol/catalogue/vendor.ts"
import type { ModelKind } from "../../protocol/kinds/call-kind.ts"
import type { BatchBounds } from "../batch-dialect.ts"

/** The endpoints of JSON requests, with the kinds of calls that have them. */
export const batchEndpoints = {
  "/chat/completions": "chat",
  "/responses": "chat",
  "/embeddings": "embedding",
  "/moderations": "moderation",
  "/images/generations": "image",
} as const satisfies Readonly<Record<string, ModelKind>>

export type BatchEndpoint = keyof typeof batchEndpoints

export interface BatchProfile {
  readonly endpoints: ReadonlyArray<BatchEndpoint>
  readonly bounds: BatchBounds
  /** The part of an endpoint's name before its path. */
  readonly prefix: "/v1" | ""
  /** The time after which the vendor removes files of lines and of results by itself; absent if it cannot be set. */
  readonly fileSeconds?: number
}

const megabyte = 1_000_000
const day = 86_400

export const batchProfiles: Readonly<Partial<Record<ChatProfileName, BatchProfile>>> = {
  /** https://platform.openai.com/docs/guides/batch: 50,000 requests, or texts to embed, and 200 MB */
  openai: {
    endpoints: ["/chat/completions", "/responses", "/embeddings", "/moderations", "/images/generations"],
    bounds: { items: 50_000, bytes: 200 * megabyte },
    prefix: "/v1",
    fileSeconds: 7 * day,
  },
  /** https://learn.microsoft.com/azure/ai-foundry/openai/how-to/batch: no file is removed before 14 days */
  azure: {
    endpoints: ["/chat/completions", "/responses", "/embeddings"],
    bounds: { items: 100_000, bytes: 200 * megabyte },
    prefix: "",
    fileSeconds: 14 * day,
  },
  /** https://console.groq.com/docs/batch; 100 MB is the lower of two limits that are documented */
  groq: {
    endpoints: ["/chat/completions"],
    bounds: { items: 50_000, bytes: 100 * megabyte },
    prefix: "/v1",
  },
}
