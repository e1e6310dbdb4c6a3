/**
 * The simulated vendor's voice: OpenAI's Realtime API with a tone. It answers when it is asked to, and also when the speaker
 * falls silent; it repeats texts, and says how long it has listened.
 */
import { type JsonObject, objectAt, objectsAt, stringAt } from "../dialects/parse/json.ts"
import type { RealtimeEvent, RealtimeScript, RealtimeVendorSession } from "../testing/scripted-realtime.ts"
import { levelOf, pauseMs, samplesPerSecond, silenceSeconds, speechLevel, toneOf } from "./simulated-sound.ts"

/** 16 bits, 24,000 times a second. */
const bytesPerSecond = 48_000

export const speakRealtime: RealtimeScript = async (session) => {
  const voice = new SimulatedVoice(session)
  for (let event = await session.next(); event !== undefined; event = await session.next()) await voice.hear(event)
}

class SimulatedVoice {
  readonly #session: RealtimeVendorSession
  #config: JsonObject = {}
  /** Texts since the last answer. */
  #texts: Array<string> = []
  #heardSeconds = 0
  #silentSeconds = 0
  #isSpeaking = false
  /** Tokens of the conversation. */
  #context = 0
  #count = 0

  constructor(session: RealtimeVendorSession) {
    this.#session = session
    const format = { type: "audio/pcm", rate: samplesPerSecond }
    const input = { format, turn_detection: { type: "server_vad", create_response: true } }
    this.#config = {
      type: "realtime",
      object: "realtime.session",
      id: "sess_simulated",
      model: "simulated-realtime",
      output_modalities: ["audio"],
      audio: { input, output: { format, voice: "tone" } },
    }
    this.#tell({ type: "session.created", session: this.#config })
  }

  async hear(event: RealtimeEvent): Promise<void> {
    switch (event.type) {
      case "session.update":
        this.#config = { ...this.#config, ...objectAt(event, "session") }
        this.#tell({ type: "session.updated", session: this.#config })
        return
      case "conversation.item.create":
        this.#texts.push(
          ...objectsAt(objectAt(event, "item"), "content").flatMap((part) => stringAt(part, "text") ?? []),
        )
        this.#tell({ type: "conversation.item.added", item: objectAt(event, "item") })
        return
      case "input_audio_buffer.append":
        await this.#listen(Buffer.from(stringAt(event, "audio") ?? "", "base64"))
        return
      case "input_audio_buffer.commit":
        this.#tell({ type: "input_audio_buffer.committed" })
        return
      case "response.create":
        await this.#answer(objectAt(event, "response"))
    }
  }

  /** Answers after a silence, unless the session says that it does not listen for one. */
  async #listen(sound: Buffer): Promise<void> {
    const seconds = sound.length / bytesPerSecond
    this.#heardSeconds += seconds
    const input = objectAt(objectAt(this.#config, "audio"), "input") ?? this.#config
    if (input["turn_detection"] === null) return
    if (levelOf(sound) > speechLevel) {
      if (!this.#isSpeaking) this.#tell({ type: "input_audio_buffer.speech_started" })
      this.#isSpeaking = true
      this.#silentSeconds = 0
      return
    }
    this.#silentSeconds += seconds
    if (!this.#isSpeaking || this.#silentSeconds < silenceSeconds) return
    this.#isSpeaking = false
    this.#tell({ type: "input_audio_buffer.speech_stopped" })
    this.#tell({ type: "input_audio_buffer.committed" })
    await this.#answer(undefined)
  }

  async #answer(config: JsonObject | undefined): Promise<void> {
    const id = `resp_${++this.#count}`
    const modalities = config?.["output_modalities"] ?? config?.["modalities"] ?? this.#config["output_modalities"]
    const isSpoken = !Array.isArray(modalities) || modalities.includes("audio")
    const heard = this.#heardSeconds >= 0.1 ? [`${this.#heardSeconds.toFixed(1)} seconds of sound`] : []
    const said = [...this.#texts, ...heard].join(", ") || "nothing"
    const words = `You said: ${said}`.split(/(?<=\s)/)
    const usage = this.#usageOf(words.length, isSpoken)
    this.#tell({
      type: "response.created",
      response: { id, object: "realtime.response", status: "in_progress", output: [] },
    })
    for (const [at, delta] of words.entries()) {
      const place = { response_id: id, item_id: `item_${this.#count}`, output_index: 0, content_index: 0 }
      if (!isSpoken) this.#tell({ type: "response.output_text.delta", ...place, delta })
      else {
        this.#tell({ type: "response.output_audio_transcript.delta", ...place, delta })
        this.#tell({ type: "response.output_audio.delta", ...place, delta: toneOf(at).toString("base64") })
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    const text = words.join("")
    const content = [isSpoken ? { type: "output_audio", transcript: text } : { type: "output_text", text }]
    const output = [{ id: `item_${this.#count}`, type: "message", role: "assistant", status: "completed", content }]
    this.#tell({
      type: "response.done",
      response: { id, object: "realtime.response", status: "completed", output, usage },
    })
  }

  #usageOf(words: number, isSpoken: boolean): object {
    const text = Math.ceil(this.#texts.join(" ").length / 4)
    const audio = Math.round(this.#heardSeconds * 10)
    const cached = this.#context
    const spoken = isSpoken ? words * 2 : 0
    this.#context += text + audio + words + spoken
    this.#texts = []
    this.#heardSeconds = 0
    return {
      total_tokens: this.#context,
      input_tokens: cached + text + audio,
      output_tokens: words + spoken,
      input_token_details: {
        text_tokens: cached + text,
        audio_tokens: audio,
        cached_tokens: cached,
        cached_tokens_details: { text_tokens: cached, audio_tokens: 0 },
      },
      output_token_details: { text_tokens: words, audio_tokens: spoken },
    }
  }

  #tell(event: RealtimeEvent): void {
    this.#session.send({ ...event, event_id: `event_${++this.#told}` })
  }
  #told = 0
}
