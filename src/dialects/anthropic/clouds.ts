/**
 * Claude on the clouds: the same messages, with another address and credential. The model is in the path and the version of
 * the API in the body, except on Azure. Sources: https://docs.anthropic.com/en/api/claude-on-vertex-ai,
 * https://docs.anthropic.com/en/api/claude-on-amazon-bedrock,
 * https://learn.microsoft.com/azure/ai-foundry/foundry-models/concepts/models-from-partners
 */
import { Result } from "effect"
import { everyBlock } from "../../protocol/block.ts"
import { cut, type JsonEdit, set } from "../../protocol/json/json-edit.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import { EventFrames } from "../bedrock/event-stream.ts"
import { bedrockAccess, bedrockFault } from "../bedrock/faults.ts"
import { modelPath } from "../bedrock/model-path.ts"
import type { SentBody } from "../carry/carried-request.ts"
import { type ChatDialect, type Decoder, malformed, type VendorEvent, type VendorRequest } from "../chat-dialect.ts"
import { geminiRefusal, isGoogles } from "../gemini/faults.ts"
import { type Place, publisherPath, vertexAuthorize } from "../gemini/vertex.ts"
import { parseObject, stringAt } from "../parse/json.ts"
import { addFrame } from "../parse/sse-frames.ts"
import { carryUnless } from "../vendor/requirements.ts"
import type { EncodeRefusal, WireRequest } from "../wire.ts"
import { betasFor, carriedMessages, messageEdits } from "./carry.ts"
import { anthropicRequirements } from "./requirements.ts"
import { anthropic, anthropicVersion } from "./vendor.ts"
import { ReplyReader } from "./vendor-reply.ts"
import { betaHeader, betasOf, encodeMessages, messagesWire } from "./vendor-request.ts"

/** The messages without what a path says. */
const bodyFor = (version: string, request: VendorRequest): Result.Result<object, EncodeRefusal> => {
  if (hasUrl(request)) return Result.fail(filesByUrl)
  return Result.map(encodeMessages(request, true), (body) => ({
    anthropic_version: version,
    ...body,
    model: undefined,
  }))
}

/** The same of a body that is carried. */
const carriedBody = (
  version: string,
  request: VendorRequest,
  sent: SentBody,
  more: ReadonlyArray<JsonEdit> = [],
): Result.Result<Uint8Array, EncodeRefusal> =>
  hasUrl(request)
    ? Result.fail(filesByUrl)
    : Result.succeed(
        sent.edited([cut("model"), ...messageEdits(request, sent, true), set(version, "anthropic_version"), ...more]),
      )

const hasUrl = ({ thread }: VendorRequest): boolean =>
  everyBlock(thread).some((block) => "url" in block && block.url !== undefined)

const filesByUrl: EncodeRefusal = { capability: "file_url", message: "this model accepts files as data, not by URL" }

const vertexVersion = "vertex-2023-10-16"
const bedrockVersion = "bedrock-2023-05-31"

const vertexWire = <Body extends string | Uint8Array>(
  place: Place,
  { model, stream }: VendorRequest,
  body: Body,
  betas: ReadonlyArray<string> = [],
): WireRequest<Body> => ({
  path: `/v1${publisherPath(place, "anthropic")}/${encodeURIComponent(model)}:${stream ? "streamRawPredict" : "rawPredict"}`,
  headers: { accept: stream ? "text/event-stream" : "application/json", ...betaHeader(betas) },
  body,
})

export const vertexClaude = (place: Place): ChatDialect => ({
  ...anthropic,
  authorize: vertexAuthorize,
  decodeError: (status, body) => (isGoogles(body) ? geminiRefusal(status, body) : anthropic.decodeError(status, body)),
  canSearch: () => false,
  encode: (request) =>
    // Absent members are not written.
    Result.map(bodyFor(vertexVersion, request), (body) => vertexWire(place, request, writeJson(body))),
  carry: carryUnless(anthropicRequirements, {
    api: "anthropic",
    encode: (request, sent) =>
      Result.map(carriedBody(vertexVersion, request, sent), (body) =>
        vertexWire(place, request, body, betasFor(request, sent)),
      ),
  }),
})

const bedrockWire = <Body extends string | Uint8Array>({ model, stream }: VendorRequest, body: Body) => ({
  path: modelPath(model, stream ? "invoke-with-response-stream" : "invoke"),
  headers: { accept: stream ? "application/vnd.amazon.eventstream" : "application/json" },
  body,
})

export const bedrockClaude: ChatDialect = {
  ...anthropic,
  ...bedrockAccess,
  canSearch: () => false,
  encode: (request) =>
    Result.map(bodyFor(bedrockVersion, request), (body) =>
      bedrockWire(request, writeJson({ ...body, stream: undefined })),
    ),
  carry: carryUnless(anthropicRequirements, {
    api: "anthropic",
    encode: (request, sent) => {
      const betas = betasFor(request, sent)
      const edits = [cut("stream"), ...(betas.length === 0 ? [] : [set(betas, "anthropic_beta")])]
      return Result.map(carriedBody(bedrockVersion, request, sent, edits), (body) => bedrockWire(request, body))
    },
  }),
  decoder: decodeChunks,
}

/** Anthropic's events, each in base64 in a frame of Amazon's. */
function decodeChunks(carries = false): Decoder {
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
          const data = Buffer.from(chunk, "base64").toString("utf8")
          const frame = parseObject(data)
          const before = events.length
          reply.readFrame(data, events, frame)
          if (carries) addFrame(events, before, stringAt(frame, "type") ?? "message", data)
        }
      }
      if (frames.isBroken) events.push(malformed)
      return events
    },
    end: () => [],
  }
}

/** The version stays in a header, also if a token replaces the key. */
const versioned = <Body extends string | Uint8Array>(wire: WireRequest<Body>): WireRequest<Body> => ({
  ...wire,
  headers: { ...wire.headers, "anthropic-version": anthropicVersion },
})

export const azureClaude: ChatDialect = {
  ...anthropic,
  canSearch: () => false,
  encode: (request) =>
    Result.map(encodeMessages(request, true), (body) =>
      versioned(messagesWire(request, betasOf(request), writeJson(body))),
    ),
  carry: carryUnless(anthropicRequirements, {
    api: "anthropic",
    encode: (request, sent) => Result.map(carriedMessages(request, sent, true), versioned),
  }),
}
