/** OpenAI's Realtime API. Source: https://platform.openai.com/docs/api-reference/realtime */
import type { VoiceMessage, VoiceProtocol, VoiceUsage } from "./protocol.ts"

/** The fields that are read of an event. */
interface RealtimeEvent {
  readonly type?: string
  readonly delta?: string
  readonly response?: { readonly usage?: RealtimeUsage | null }
  readonly error?: { readonly message?: string }
}

interface RealtimeUsage {
  readonly input_tokens?: number
  readonly output_tokens?: number
}

export const openaiVoice: VoiceProtocol = {
  microphoneRate: 24_000,
  addressOf: (model, credential) => ({
    path: `openai/v1/realtime?${new URLSearchParams({ model })}`,
    protocols: ["realtime", `openai-insecure-api-key.${credential}`],
  }),
  setup: () => undefined,
  sound: (audio) => ({ type: "input_audio_buffer.append", audio }),
  text: (text) => [
    {
      type: "conversation.item.create",
      item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
    },
    { type: "response.create" },
  ],
  read: (text) => {
    const event: RealtimeEvent = JSON.parse(text)
    return { name: event.type ?? "", ...meaningOf(event) }
  },
}

const meaningOf = ({ type, delta = "", response, error }: RealtimeEvent): Omit<VoiceMessage, "name"> => {
  switch (type) {
    case "response.output_audio.delta":
      return { sound: [delta] }
    case "response.output_audio_transcript.delta":
    case "response.output_text.delta":
      return { said: delta }
    // Over WebSockets, clients end the playback themselves.
    case "input_audio_buffer.speech_started":
      return { isInterrupted: true }
    case "response.done":
      return { isAnswered: true, usage: usageOf(response?.usage) }
    case "error":
      return { problem: error?.message ?? "The session failed" }
    default:
      return {}
  }
}

/** A response that was cancelled early has none. */
const usageOf = (usage: RealtimeUsage | null | undefined): VoiceUsage | undefined =>
  usage ? { inTokens: usage.input_tokens ?? 0, outTokens: usage.output_tokens ?? 0 } : undefined
