/** Google's Live API. Source: https://ai.google.dev/api/live */
import { playedRate, type VoiceMessage, type VoiceProtocol, type VoiceUsage } from "./protocol.ts"

/** The fields that are read of a message. */
interface LiveMessage {
  readonly setupComplete?: object
  readonly serverContent?: {
    readonly modelTurn?: { readonly parts?: ReadonlyArray<LivePart> }
    readonly inputTranscription?: { readonly text?: string }
    readonly outputTranscription?: { readonly text?: string }
    readonly interrupted?: boolean
    readonly turnComplete?: boolean
    readonly turnCompleteReason?: string
  }
  readonly usageMetadata?: {
    readonly promptTokenCount?: number
    readonly toolUsePromptTokenCount?: number
    readonly responseTokenCount?: number
    readonly thoughtsTokenCount?: number
  }
}

interface LivePart {
  readonly text?: string
  /** Whether the text is not a part of the answer. */
  readonly thought?: boolean
  readonly inlineData?: { readonly mimeType?: string; readonly data?: string }
}

const path = "gemini/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
const microphoneRate = 16_000

export const googleVoice: VoiceProtocol = {
  microphoneRate,
  // Browsers send no headers with a socket, and the API has no subprotocol for a key.
  addressOf: (_model, credential) => ({ path: `${path}?${new URLSearchParams({ key: credential })}` }),
  setup: (model) => ({
    setup: {
      model: `models/${model}`,
      generationConfig: { responseModalities: ["AUDIO"] },
      inputAudioTranscription: {},
      outputAudioTranscription: {},
    },
  }),
  sound: (data) => ({ realtimeInput: { audio: { mimeType: `audio/pcm;rate=${microphoneRate}`, data } } }),
  text: (text) => [{ realtimeInput: { text } }],
  read: (text) => {
    const message: LiveMessage = JSON.parse(text)
    return { name: nameOf(message), ...meaningOf(message) }
  },
}

/** The names of a message's fields: a message has no name of its own. */
const nameOf = ({ serverContent = {}, ...others }: LiveMessage): string =>
  [...Object.keys(serverContent), ...Object.keys(others)].join(", ")

const meaningOf = ({ setupComplete, serverContent = {}, usageMetadata }: LiveMessage): Omit<VoiceMessage, "name"> => {
  const { modelTurn, inputTranscription, outputTranscription, interrupted, turnComplete, turnCompleteReason } =
    serverContent
  const parts = modelTurn?.parts ?? []
  const texts = parts.flatMap(({ text, thought }) => (text === undefined || thought === true ? [] : [text]))
  return {
    isReady: setupComplete !== undefined,
    said: [outputTranscription?.text ?? "", ...texts].join(""),
    heard: inputTranscription?.text,
    sound: parts.flatMap(({ inlineData }) => soundIn(inlineData)),
    isInterrupted: interrupted === true,
    isAnswered: turnComplete === true,
    usage: usageMetadata && usageOf(usageMetadata),
    problem: problemOf(turnCompleteReason),
  }
}

/** A turn that asks for more input is no failure. */
const problemOf = (reason: string | undefined): string | undefined =>
  reason === undefined || reason === "NEED_MORE_INPUT" ? undefined : `The turn ended with ${reason}`

const soundIn = ({ mimeType, data }: NonNullable<LivePart["inlineData"]> = {}): ReadonlyArray<string> =>
  data !== undefined && soundTypes.includes(mimeType ?? "") ? [data] : []

const soundTypes: ReadonlyArray<string> = ["audio/pcm", `audio/pcm;rate=${playedRate}`]

const usageOf = ({
  promptTokenCount = 0,
  toolUsePromptTokenCount = 0,
  responseTokenCount = 0,
  thoughtsTokenCount = 0,
}: NonNullable<LiveMessage["usageMetadata"]>): VoiceUsage => ({
  inTokens: promptTokenCount + toolUsePromptTokenCount,
  outTokens: responseTokenCount + thoughtsTokenCount,
})
