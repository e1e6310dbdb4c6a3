/**
 * Claude on the clouds: the same messages, with another way in. The model is in the path and the version of the API in
 * the body, except on Azure. Sources: https://docs.anthropic.com/en/api/claude-on-vertex-ai,
 * https://docs.anthropic.com/en/api/claude-on-amazon-bedrock, https://learn.microsoft.com/azure/ai-foundry/foundry-models/concepts/models-from-partners
 */
import { Result } from "effect"
import { EventFrames } from "../bedrock/event-stream.ts"
import { bedrockAccess, bedrockFault } from "../bedrock/faults.ts"
import { modelPath } from "../bedrock/model-path.ts"
import { type Decoder, type Dialect, malformed, type VendorEvent, type VendorRequest } from "../dialect.ts"
import { geminiRefusal, isGoogles } from "../gemini/faults.ts"
import { type Place, publisherPath, vertexAuthorize } from "../gemini/vertex.ts"
import { parseObject, stringAt } from "../json.ts"
import type { EncodeRefusal } from "../wire.ts"
import { anthropic, anthropicVersion } from "./vendor.ts"
import { ReplyReader } from "./vendor-reply.ts"
import { encodeMessages } from "./vendor-request.ts"

/** The messages without what a path says. */
const bodyFor = (version: string, request: VendorRequest): Result.Result<object, EncodeRefusal> => {
  const hasUrl = request.thread.some(({ blocks }) => blocks.some((block) => "url" in block && block.url !== undefined))
  if (hasUrl) return Result.fail({ capability: "file_url", message: "this model accepts files as data, not by URL" })
  return Result.map(encodeMessages(request), (body) => ({ anthropic_version: version, ...body, model: undefined }))
}

export const vertexClaude = (place: Place): Dialect => ({
  ...anthropic,
  authorize: vertexAuthorize,
  decodeError: (status, body) => (isGoogles(body) ? geminiRefusal(status, body) : anthropic.decodeError(status, body)),
  canSearch: () => false,
  encode: (request) =>
    Result.map(bodyFor("vertex-2023-10-16", request), (body) => ({
      path: `/v1${publisherPath(place, "anthropic")}/${encodeURIComponent(request.model)}:${request.stream ? "streamRawPredict" : "rawPredict"}`,
      headers: { accept: request.stream ? "text/event-stream" : "application/json" },
      // Absent members are not written.
      body: JSON.stringify(body),
    })),
})

export const bedrockClaude: Dialect = {
  ...anthropic,
  ...bedrockAccess,
  canSearch: () => false,
  encode: (request) =>
    Result.map(bodyFor("bedrock-2023-05-31", request), (body) => ({
      path: modelPath(request.model, request.stream ? "invoke-with-response-stream" : "invoke"),
      headers: { accept: request.stream ? "application/vnd.amazon.eventstream" : "application/json" },
      body: JSON.stringify({ ...body, stream: undefined }),
    })),
  decoder: () => decodeChunks(),
}

/** Anthropic's events, each in base64 in a frame of Amazon's. */
const decodeChunks = (): Decoder => {
  const frames = new EventFrames()
  const reply = new ReplyReader()
  return {
    push: (bytes) => {
      if (frames.isBroken) return []
      const events: Array<VendorEvent> = []
      for (const { kind, type, json } of frames.push(bytes)) {
        if (kind !== "event") events.push(bedrockFault(type, json))
        else {
          const chunk = stringAt(parseObject(json), "bytes") ?? ""
          reply.readFrame(parseObject(Buffer.from(chunk, "base64").toString("utf8")), events)
        }
      }
      if (frames.isBroken) events.push(malformed)
      return events
    },
    end: () => [],
  }
}

/** The version is a header, and stays one where a token takes the place of the key. */
export const azureClaude: Dialect = {
  ...anthropic,
  canSearch: () => false,
  encode: (request) =>
    Result.map(anthropic.encode(request), (wire) => ({
      ...wire,
      headers: { ...wire.headers, "anthropic-version": anthropicVersion },
    })),
}
