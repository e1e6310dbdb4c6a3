/** Realtime sessions of the playground: both APIs have the same meaning in a browser. */
import { describe, expect, it } from "vitest"
import { type SpokenLine, withMessage, withTyped } from "../../../src/console/pages/playground/spoken-lines.ts"
import { googleVoice } from "../../../src/console/voice/google.ts"
import { openaiVoice } from "../../../src/console/voice/openai.ts"
import type { VoiceMessage, VoiceProtocol } from "../../../src/console/voice/protocol.ts"

const readBy =
  ({ read }: VoiceProtocol) =>
  (message: object): VoiceMessage =>
    read(JSON.stringify(message))
const google = readBy(googleVoice)
const openai = readBy(openaiVoice)
const sound = (mimeType: string) => ({
  serverContent: { modelTurn: { parts: [{ inlineData: { mimeType, data: "AAA=" } }] } },
})

describe("a message of Google's Live API", () => {
  it("has the names of its fields, those of its content first", () => {
    expect(google({ usageMetadata: {}, serverContent: { turnComplete: true } }).name).toBe(
      "turnComplete, usageMetadata",
    )
    expect(google({ goAway: { timeLeft: "10s" } })).toMatchObject({ name: "goAway", isReady: false, sound: [] })
  })

  it("makes the session ready, and begins it with sound and both transcripts", () => {
    expect(google({ setupComplete: {} }).isReady).toBe(true)
    expect(googleVoice.setup("talk-google")).toEqual({
      setup: {
        model: "models/talk-google",
        generationConfig: { responseModalities: ["AUDIO"] },
        inputAudioTranscription: {},
        outputAudioTranscription: {},
      },
    })
  })

  it("has sound of the rate that is played, and no other", () => {
    expect(google(sound("audio/pcm;rate=24000")).sound).toEqual(["AAA="])
    expect(google(sound("audio/pcm")).sound).toEqual(["AAA="])
    expect(google(sound("audio/pcm;rate=16000")).sound).toEqual([])
    expect(google(sound("image/png")).sound).toEqual([])
  })

  it("has texts and transcripts, but no thoughts", () => {
    const parts = [{ text: "Hm", thought: true }, { text: "Hello" }]
    expect(google({ serverContent: { modelTurn: { parts } } }).said).toBe("Hello")
    expect(google({ serverContent: { outputTranscription: { text: "Hi" } } }).said).toBe("Hi")
    expect(google({ serverContent: { inputTranscription: { text: "Who?" } } })).toMatchObject({
      said: "",
      heard: "Who?",
    })
  })

  it("has the tokens of an answer with its thoughts, and the reason of a denial", () => {
    const usageMetadata = { promptTokenCount: 5, responseTokenCount: 7, thoughtsTokenCount: 2 }
    expect(google({ usageMetadata }).usage).toEqual({ inTokens: 5, outTokens: 9 })
    const ended = (turnCompleteReason: string) => google({ serverContent: { turnComplete: true, turnCompleteReason } })
    expect(ended("RESPONSE_REJECTED")).toMatchObject({
      isAnswered: true,
      problem: "The turn ended with RESPONSE_REJECTED",
    })
    expect(ended("NEED_MORE_INPUT").problem).toBeUndefined()
  })
})

it("an event of OpenAI's Realtime API has the same meaning", () => {
  expect(openai({ type: "response.output_audio.delta", delta: "AAA=" })).toEqual({
    name: "response.output_audio.delta",
    sound: ["AAA="],
  })
  expect(openai({ type: "response.output_text.delta", delta: "Hi" }).said).toBe("Hi")
  const usage = { input_tokens: 5, output_tokens: 9 }
  expect(openai({ type: "response.done", response: { usage } }).usage).toEqual({ inTokens: 5, outTokens: 9 })
  expect(openai({ type: "response.done", response: { usage: null } })).toMatchObject({
    isAnswered: true,
    usage: undefined,
  })
  expect(openai({ type: "error", error: { message: "No" } }).problem).toBe("No")
  expect(openai({ type: "input_audio_buffer.speech_started" }).isInterrupted).toBe(true)
  expect(openai({ type: "rate_limits.updated" })).toEqual({ name: "rate_limits.updated" })
})

it("a late transcript of the speaker continues its own line; an answer that is over is not continued", () => {
  const messages: ReadonlyArray<Omit<VoiceMessage, "name">> = [
    { heard: "Who " },
    { said: "I " },
    { heard: "are you?" },
    { said: "am." },
    { isAnswered: true },
    { said: "Then" },
    { isInterrupted: true, isAnswered: true },
  ]
  const lines = messages.reduce<ReadonlyArray<SpokenLine>>(
    (known, message) => withMessage(known, { name: "", ...message }),
    withTyped([], "Hello"),
  )
  expect(lines.map(({ who, text, isInterrupted }) => `${who}: ${text}${isInterrupted ? " /" : ""}`)).toEqual([
    "You: Hello",
    "You: Who are you?",
    "Model: I am.",
    "Model: Then /",
  ])
})
