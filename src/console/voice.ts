/** A realtime session from a browser: the sound of the microphone is sent, and the model's sound is played. */
import { addressOf } from "./api.ts"

export interface VoiceEvents {
  /** Receives a part of the model's text. */
  readonly said: (text: string) => void
  /** A new answer begins. */
  readonly begun: () => void
  readonly told: (type: string) => void
  /** @param problem the reason of a failure; empty after a regular end */
  readonly ended: (problem: string) => void
}

export interface Voice {
  /** Says a text to the model, and asks for an answer. */
  readonly say: (text: string) => void
  readonly end: () => void
}

/** 16 bits, 24,000 times a second. */
const samplesPerSecond = 24_000
/** Samples that are sent at a time. */
const frameSamples = 2048

/** @param withMicrophone whether the sound of the microphone is sent */
export const openVoice = async (
  credential: string,
  model: string,
  withMicrophone: boolean,
  events: VoiceEvents,
): Promise<Voice> => {
  const context = new AudioContext({ sampleRate: samplesPerSecond })
  const microphone = withMicrophone ? await navigator.mediaDevices.getUserMedia({ audio: true }) : undefined
  const url = addressOf(`openai/v1/realtime?${new URLSearchParams({ model })}`)
  const socket = new WebSocket(String(url).replace(/^http/, "ws"), [
    "realtime",
    `openai-insecure-api-key.${credential}`,
  ])
  const send = (event: object) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(event))
  }
  /** The time when the sound so far has been played. */
  let playedAt = 0
  const play = (base64: string) => {
    const samples = samplesOf(base64)
    if (samples.length === 0) return
    const buffer = context.createBuffer(1, samples.length, samplesPerSecond)
    buffer.copyToChannel(samples, 0)
    const source = context.createBufferSource()
    source.buffer = buffer
    source.connect(context.destination)
    playedAt = Math.max(playedAt, context.currentTime)
    source.start(playedAt)
    playedAt += buffer.duration
  }
  let problem = "The session could not be opened"
  const stop = () => {
    for (const track of microphone?.getTracks() ?? []) track.stop()
    void context.close().catch(() => {})
  }
  const opened = new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }))
  socket.addEventListener("open", () => {
    problem = ""
    if (microphone !== undefined)
      hear(context, microphone, (audio) => send({ type: "input_audio_buffer.append", audio }))
  })
  socket.addEventListener("message", ({ data }) => {
    const event = JSON.parse(String(data))
    events.told(String(event.type))
    if (event.type === "response.created") events.begun()
    if (event.type === "response.output_audio.delta") play(String(event.delta))
    if (event.type === "response.output_audio_transcript.delta" || event.type === "response.output_text.delta") {
      events.said(String(event.delta))
    }
    if (event.type === "error") problem = String(event.error?.message ?? "The session failed")
  })
  socket.addEventListener("close", () => {
    stop()
    events.ended(problem)
  })
  return {
    say: (text) => {
      const item = { type: "message", role: "user", content: [{ type: "input_text", text }] }
      // A text that comes before the socket is open waits for it.
      void opened.then(() => {
        send({ type: "conversation.item.create", item })
        send({ type: "response.create" })
      })
    },
    end: () => socket.close(1000),
  }
}

/** Returns the sound of a microphone, as 16-bit samples in base64. */
const hear = (context: AudioContext, microphone: MediaStream, take: (audio: string) => void): void => {
  const processor = context.createScriptProcessor(frameSamples, 1, 1)
  processor.onaudioprocess = ({ inputBuffer }) => take(base64Of(inputBuffer.getChannelData(0)))
  context.createMediaStreamSource(microphone).connect(processor)
  processor.connect(context.destination)
}

const base64Of = (samples: Float32Array): string => {
  const bytes = new Uint8Array(samples.length * 2)
  const view = new DataView(bytes.buffer)
  for (const [at, sample] of samples.entries()) view.setInt16(at * 2, Math.max(-1, Math.min(1, sample)) * 32_767, true)
  return btoa(String.fromCharCode(...bytes))
}

const samplesOf = (base64: string): Float32Array<ArrayBuffer> => {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  const view = new DataView(bytes.buffer)
  const samples = new Float32Array(Math.floor(bytes.length / 2))
  for (const at of samples.keys()) samples[at] = view.getInt16(at * 2, true) / 32_768
  return samples
}
