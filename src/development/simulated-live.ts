/**
 * The simulated vendor's voice in Google's Live API: it answers texts, and sound when the speaker falls silent or the stream
 * ends; it repeats texts, and says how long it has listened.
 */
import { isObject, type JsonObject, objectAt, objectsAt, stringAt } from "../dialects/parse/json.ts"
import { liveUsage, soundMessage } from "../testing/live-messages.ts"
import type { LiveScript, LiveTwinSession } from "../testing/live-twin.ts"
import { levelOf, pauseMs, silenceSeconds, speechLevel, toneOf } from "./simulated-sound.ts"

/** 16 bits, 16,000 times a second. */
const bytesPerSecond = 32_000

export const speakLive: LiveScript = async (session) => {
  const voice = new SimulatedLiveVoice(session)
  for (let message = await session.next(); message !== undefined; message = await session.next()) {
    await voice.hear(message)
  }
}

class SimulatedLiveVoice {
  readonly #session: LiveTwinSession
  /** Whether it answers with text. */
  readonly #writes: boolean
  /** Whether it sends a transcript of the sound that it has heard. */
  readonly #transcribes: boolean
  /** Texts since the last answer. */
  #texts: Array<string> = []
  #heardSeconds = 0
  #silentSeconds = 0
  #isSpeaking = false
  /** Tokens of the conversation. */
  #context = 0

  constructor(session: LiveTwinSession) {
    this.#session = session
    const generation = objectAt(session.setup, "generationConfig") ?? objectAt(session.setup, "generation_config")
    const modalities = generation?.["responseModalities"] ?? generation?.["response_modalities"]
    this.#writes = Array.isArray(modalities) && modalities.includes("TEXT")
    this.#transcribes = "inputAudioTranscription" in session.setup || "input_audio_transcription" in session.setup
  }

  async hear(message: JsonObject): Promise<void> {
    const content = objectAt(message, "clientContent") ?? objectAt(message, "client_content")
    const input = objectAt(message, "realtimeInput") ?? objectAt(message, "realtime_input")
    if (content !== undefined) {
      this.#texts.push(...objectsAt(content, "turns").flatMap((turn) => textsOf(turn)))
      if (content["turnComplete"] === true || content["turn_complete"] === true) await this.#answer()
    } else if (input !== undefined) await this.#listen(input)
    else await this.#answer()
  }

  async #listen(input: JsonObject): Promise<void> {
    const text = stringAt(input, "text")
    if (text !== undefined) this.#texts.push(text)
    const chunks = input["mediaChunks"] ?? input["media_chunks"]
    for (const chunk of [input["audio"], ...(Array.isArray(chunks) ? chunks : [])]) {
      if (isObject(chunk)) this.#take(Buffer.from(stringAt(chunk, "data") ?? "", "base64"))
    }
    const isSilent = this.#isSpeaking && this.#silentSeconds >= silenceSeconds
    const isOver = input["audioStreamEnd"] === true || input["audio_stream_end"] === true || "activityEnd" in input
    if (text !== undefined || isSilent || (isOver && this.#heardSeconds > 0)) await this.#answer()
  }

  #take(sound: Buffer): void {
    const seconds = sound.length / bytesPerSecond
    this.#heardSeconds += seconds
    if (levelOf(sound) > speechLevel) {
      this.#isSpeaking = true
      this.#silentSeconds = 0
    } else this.#silentSeconds += seconds
  }

  async #answer(): Promise<void> {
    const heard = this.#heardSeconds >= 0.1 ? [`${this.#heardSeconds.toFixed(1)} seconds of sound`] : []
    const said = [...this.#texts, ...heard].join(", ") || "nothing"
    const words = `You said: ${said}`.split(/(?<=\s)/)
    const usage = this.#usageOf(words.length)
    for (const text of this.#transcribes ? heard : [])
      this.#session.send({ serverContent: { inputTranscription: { text } } })
    for (const [at, text] of words.entries()) {
      if (this.#writes) this.#session.send({ serverContent: { modelTurn: { parts: [{ text }] } } })
      else {
        this.#session.send({ serverContent: { outputTranscription: { text } } })
        this.#session.send(soundMessage(toneOf(at)))
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    this.#session.send({ serverContent: { generationComplete: true } })
    this.#session.send({ serverContent: { turnComplete: true }, usageMetadata: usage })
  }

  #usageOf(words: number): object {
    const text = Math.ceil(this.#texts.join(" ").length / 4)
    const audio = Math.round(this.#heardSeconds * 25)
    const spoken = this.#writes ? 0 : words * 3
    const usage = liveUsage(this.#context + text, audio, words, spoken, this.#context)
    this.#context += text + audio + words + spoken
    this.#texts = []
    this.#heardSeconds = 0
    this.#silentSeconds = 0
    this.#isSpeaking = false
    return usage
  }
}

const textsOf = (turn: JsonObject): ReadonlyArray<string> =>
  objectsAt(turn, "parts").flatMap((part) => stringAt(part, "text") ?? [])
