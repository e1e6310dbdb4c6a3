/** The batches of clients, by the APIs that they have. */
import { Layer } from "effect"
import { anthropicBatchRoutes } from "./anthropic-batches.ts"
import { geminiBatchRoutes } from "./gemini-batches.ts"
import { openaiBatchRoutes } from "./openai-batches.ts"

export const batchRoutes = Layer.mergeAll(openaiBatchRoutes, anthropicBatchRoutes, geminiBatchRoutes)
