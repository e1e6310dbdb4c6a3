/** Messages of a vendor with Google's Live API, for the scripts of its twin. */
import { isObject, type JsonObject } from "../dialects/parse/json.ts"
import type { LiveScript } from "./live-twin.ts"

/** A turn of the model. */
export interface LiveTurn {
  readonly words?: ReadonlyArray<string>
  /** Whether the words are text of the model; a transcript of its sound if absent. */
  readonly isText?: boolean
  /** Bytes of sound in each part. */
  readonly audioBytes?: number
  readonly parts?: number
  readonly usage?: object
}

/** The messages of a turn, from its first content to `turnComplete`. */
export const turnMessages = ({ words = [], isText = false, audioBytes = 0, parts = 0, usage }: LiveTurn) => [
  ...words.map((text) => ({
    serverContent: isText ? { modelTurn: { parts: [{ text }] } } : { outputTranscription: { text } },
  })),
  ...Array.from({ length: parts }, (_, at) => soundMessage(Buffer.alloc(audioBytes, at))),
  { serverContent: { generationComplete: true } },
  { serverContent: { turnComplete: true }, ...(usage !== undefined && { usageMetadata: usage }) },
]

export const soundMessage = (sound: Buffer) => ({
  serverContent: {
    modelTurn: { parts: [{ inlineData: { mimeType: "audio/pcm;rate=24000", data: sound.toString("base64") } }] },
  },
})

/** The usage that Google reports of a turn. */
export const liveUsage = (inText: number, inAudio: number, outText: number, outAudio: number, cached = 0) => ({
  promptTokenCount: inText + inAudio,
  ...(cached > 0 && {
    cachedContentTokenCount: cached,
    cacheTokensDetails: [{ modality: "TEXT", tokenCount: cached }],
  }),
  responseTokenCount: outText + outAudio,
  totalTokenCount: inText + inAudio + outText + outAudio,
  promptTokensDetails: [
    { modality: "TEXT", tokenCount: inText },
    { modality: "AUDIO", tokenCount: inAudio },
  ],
  responseTokensDetails: [
    { modality: "TEXT", tokenCount: outText },
    { modality: "AUDIO", tokenCount: outAudio },
  ],
})

/** Answers each completed turn of the client. */
export const answeringLive =
  (turn: LiveTurn): LiveScript =>
  async (session) => {
    for (let message = await session.next(); message !== undefined; message = await session.next()) {
      if (asksForAnswer(message)) for (const each of turnMessages(turn)) session.send(each)
    }
  }

const asksForAnswer = (message: JsonObject): boolean => {
  const content = message["clientContent"] ?? message["client_content"]
  if (isObject(content)) return content["turnComplete"] === true || content["turn_complete"] === true
  const input = message["realtimeInput"]
  return "toolResponse" in message || (isObject(input) && ("audioStreamEnd" in input || "text" in input))
}
