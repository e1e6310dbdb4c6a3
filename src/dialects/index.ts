/** Dialects by their name in the catalogue, with the changes of a vendor's profile. */
import { Result } from "effect"
import type { MediaBody } from "../media/media-file.ts"
import type { ChatProfileName, DialectName, Vendor } from "../protocol/catalogue/vendor.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"
import { anthropicBatches } from "./anthropic/batches.ts"
import { azureClaude, bedrockClaude, vertexClaude } from "./anthropic/clouds.ts"
import { anthropic } from "./anthropic/vendor.ts"
import { bedrock, bedrockChat } from "./bedrock/vendor.ts"
import type { Carry, ChatDialect } from "./chat-dialect.ts"
import { cohere, cohereChat } from "./cohere/vendor.ts"
import { deepgram } from "./deepgram/vendor.ts"
import type { Dialect } from "./dialect.ts"
import { elevenlabs } from "./elevenlabs/vendor.ts"
import { geminiBatches } from "./gemini/batches.ts"
import { geminiCache } from "./gemini/cache.ts"
import { geminiEmbedding } from "./gemini/embedding.ts"
import { geminiImage } from "./gemini/image.ts"
import { geminiSpeech } from "./gemini/speech.ts"
import { gemini } from "./gemini/vendor.ts"
import { vertexGemini } from "./gemini/vertex.ts"
import { geminiVideo } from "./gemini/video.ts"
import { geminiLive } from "./gemini-live/vendor.ts"
import type { VideoDialect } from "./media-dialect.ts"
import { batchProfiles } from "./openai-chat/batch-profiles.ts"
import { makeBatches } from "./openai-chat/batches.ts"
import { makeEmbedding } from "./openai-chat/embedding.ts"
import { makeImage } from "./openai-chat/image.ts"
import { type KindProfile, kindProfiles } from "./openai-chat/kind-profiles.ts"
import { mistralBatches } from "./openai-chat/mistral-batches.ts"
import { makeModeration } from "./openai-chat/moderation.ts"
import { chatProfiles } from "./openai-chat/profiles.ts"
import { makeRerank } from "./openai-chat/rerank.ts"
import { makeSpeech } from "./openai-chat/speech.ts"
import { makeTranscription } from "./openai-chat/transcription.ts"
import { makeChatDialect, openaiChat } from "./openai-chat/vendor.ts"
import { openaiVideo } from "./openai-chat/video.ts"
import { azureRealtime, openaiRealtime } from "./openai-realtime/vendor.ts"
import { openaiResponses } from "./openai-responses/vendor.ts"
import { voyage } from "./voyage/vendor.ts"
import type { EncodeRefusal, WireRequest } from "./wire.ts"

/** A dialect that has chat alone. */
const chatOnly = (chat: ChatDialect): Dialect => ({
  authorize: chat.authorize,
  decodeError: chat.decodeError,
  chat,
})

/** OpenAI's API with a vendor's profile. */
const openai = (name: ChatProfileName): Dialect => ({
  ...chatOnly(makeChatDialect(chatProfiles[name])),
  ...openaiKinds(kindProfiles[name] ?? {}),
  realtime: openaiRealtime,
  ...batchesOf(name),
})

/** The vendor's batches, where it has an API of them: OpenAI's, or its own. */
const batchesOf = (name: ChatProfileName, place?: (path: string) => string): Pick<Dialect, "batch"> => {
  if (name === "mistral") return { batch: mistralBatches }
  const profile = batchProfiles[name]
  return profile === undefined ? {} : { batch: makeBatches(profile, place) }
}

const openaiKinds = ({ embedding, rerank, moderation, image, speech, transcription }: KindProfile) => ({
  embedding: makeEmbedding(embedding),
  rerank: makeRerank(rerank),
  moderation: makeModeration(moderation),
  image: makeImage(image),
  speech: makeSpeech(speech),
  transcription: makeTranscription(transcription),
  video: openaiVideo,
})

/** The kinds that OpenAI has at the same address, whichever API is its chat: it ranks nothing. */
const responses = (name: ChatProfileName): Dialect => {
  const { rerank: _rerank, ...kinds } = openaiKinds(kindProfiles[name] ?? {})
  return { ...chatOnly(openaiResponses), ...kinds, ...batchesOf(name) }
}

/** Chat in each dialect that has it. */
export const chatDialects = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  gemini,
  cohere: cohereChat,
  bedrock: bedrockChat,
}

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  "openai-chat": openai("openai"),
  "openai-responses": responses("openai"),
  anthropic: { ...chatOnly(anthropic), batch: anthropicBatches },
  gemini: {
    ...chatOnly(gemini),
    embedding: geminiEmbedding,
    image: geminiImage,
    speech: geminiSpeech,
    video: geminiVideo,
    realtime: geminiLive,
    batch: geminiBatches,
    cache: geminiCache,
  },
  cohere,
  bedrock,
  voyage,
  elevenlabs,
  deepgram,
}

/** The dialect of a vendor of the catalogue. */
export const dialectOf = ({
  dialect: name,
  profile,
  apiVersion,
  google,
}: Pick<Vendor, "dialect" | "profile" | "apiVersion" | "google">): Dialect => {
  if (profile === "vertex") {
    if (google === undefined) return dialects[name]
    return name === "anthropic" ? chatOnly(vertexClaude(google)) : vertexGemini(google)
  }
  if (name === "anthropic" && profile === "azure") return chatOnly(azureClaude)
  if (profile === "bedrock") return chatOnly(bedrockClaude)
  if (profile === undefined || (name !== "openai-chat" && name !== "openai-responses")) return dialects[name]
  const dialect = name === "openai-chat" ? openai(profile) : responses(profile)
  return profile === "azure" ? onAzure(dialect, apiVersion) : dialect
}

/**
 * Whether a vendor has an API of batches.
 * @param kind the kind of the calls; any if absent
 */
export const hasBatches = (vendor: Parameters<typeof dialectOf>[0], kind?: ModelKind): boolean => {
  const { batch } = dialectOf(vendor)
  return batch !== undefined && (kind === undefined || batch.kinds.includes(kind))
}

/**
 * Azure's access to a dialect: its own header, and the path of a deployment (named like the model) with an API version.
 * Source: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
const onAzure = (dialect: Dialect, apiVersion: string | undefined): Dialect => {
  const { chat, embedding, rerank, moderation, image, speech, transcription, video, realtime } = dialect
  const authorize = (credential: string) => ({ "api-key": credential })
  const moved = <Body extends string | MediaBody>(
    wire: Result.Result<WireRequest<Body>, EncodeRefusal>,
    model: string,
  ) => Result.map(wire, (wire) => ({ ...wire, path: azurePath(wire.path, model, apiVersion) }))
  const movedWhole = <Asked, Body extends string | MediaBody, Whole extends Encodes<Asked, Body>>(
    whole: Whole & Encodes<Asked, Body>,
  ) => ({
    ...whole,
    encode: (asked: Asked, model: string, family: string) => moved(whole.encode(asked, model, family), model),
  })
  return {
    ...dialect,
    authorize,
    ...(embedding !== undefined && { embedding: movedWhole(embedding) }),
    ...(rerank !== undefined && { rerank: movedWhole(rerank) }),
    ...(moderation !== undefined && { moderation: movedWhole(moderation) }),
    ...(image !== undefined && { image: movedWhole(image) }),
    ...(speech !== undefined && { speech: movedWhole(speech) }),
    ...(transcription !== undefined && { transcription: movedWhole(transcription) }),
    ...(video !== undefined && { video: videoOnAzure(video) }),
    ...(realtime !== undefined && { realtime: azureRealtime(apiVersion) }),
    ...batchesOf("azure", azureResource(apiVersion)),
    ...(chat !== undefined && {
      chat: {
        ...chat,
        authorize,
        canSearch: () => false,
        encode: (request) => moved(chat.encode(request), request.model),
        ...(chat.carry !== undefined && { carry: movedCarry(chat.carry, apiVersion) }),
      },
    }),
  }
}

const movedCarry = ({ api, encode }: Carry, apiVersion: string | undefined): Carry => ({
  api,
  encode: (request, sent) => {
    const wire = encode(request, sent)
    return wire && Result.map(wire, (wire) => ({ ...wire, path: azurePath(wire.path, request.model, apiVersion) }))
  },
})

/** Jobs have no deployment in their address, and no version. */
const videoOnAzure = (video: VideoDialect): VideoDialect => {
  const moved = <Wire extends { readonly path: string }>(wire: Wire): Wire => ({ ...wire, path: azurePath(wire.path) })
  const { cancel } = video
  return {
    ...video,
    encode: (...asked) => Result.map(video.encode(...asked), moved),
    poll: (job) => moved(video.poll(job)),
    ...(cancel !== undefined && { cancel: (job: string) => moved(cancel(job)) }),
    content: (...args) => {
      const wire = video.content(...args)
      return wire && moved(wire)
    },
  }
}

interface Encodes<Asked, Body extends string | MediaBody> {
  readonly encode: (asked: Asked, model: string, family: string) => Result.Result<WireRequest<Body>, EncodeRefusal>
}

/** The paths of resources that have no deployment in their address. */
const azureResource =
  (apiVersion: string | undefined) =>
  (path: string): string => {
    if (apiVersion === undefined) return `/openai/v1${path}`
    return `/openai${path}${path.includes("?") ? "&" : "?"}api-version=${apiVersion}`
  }

const azurePath = (path: string, model = "", apiVersion?: string): string => {
  if (apiVersion === undefined) return `/openai/v1${path}`
  const place = path === "/responses" ? "/openai" : `/openai/deployments/${encodeURIComponent(model)}`
  return `${place}${path}?api-version=${apiVersion}`
}
