/**
 * Claude on Vertex AI: the model is in the path, and the version of the API in the body.
 * Source: https://docs.anthropic.com/en/api/claude-on-vertex-ai
 */
import { Result } from "effect"
import type { Dialect } from "../dialect.ts"
import { type Place, publisherPath, vertexAuthorize } from "../gemini/vertex.ts"
import { anthropic } from "./vendor.ts"
import { encodeMessages } from "./vendor-request.ts"

const version = "vertex-2023-10-16"

export const vertexClaude = (place: Place): Dialect => ({
  ...anthropic,
  authorize: vertexAuthorize,
  encode: (request) =>
    Result.map(encodeMessages(request), (body) => ({
      path: `/v1${publisherPath(place, "anthropic")}/${encodeURIComponent(request.model)}:${request.stream ? "streamRawPredict" : "rawPredict"}`,
      headers: { accept: request.stream ? "text/event-stream" : "application/json" },
      // Absent members are not written.
      body: JSON.stringify({ anthropic_version: version, ...body, model: undefined }),
    })),
})
