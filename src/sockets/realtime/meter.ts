/** What a realtime session has sent and received, counted as it passes: for what a vendor does not report. */

import { inTokensPerSecond, outTokensPerSecond, usualBytesPerSecond } from "../../dialects/openai-realtime/audio.ts"
import type { Added } from "../../dialects/openai-realtime/client-events.ts"
import { type Counts, inputTokens } from "../../money/pricing.ts"
import { estimatedTokens, imageTokens } from "./plan.ts"

/** A response's output so far. */
export interface Output {
  audioBytes: number
  textBytes: number
}

export class SessionMeter {
  inBytesPerSecond = usualBytesPerSecond
  outBytesPerSecond = usualBytesPerSecond
  /** Seconds of sound in both directions, since the session began. */
  secondsIn = 0
  secondsOut = 0
  /** Tokens of the conversation, as the vendor has last reported them. */
  #reported = 0
  /** Since that report. */
  #textBytes = 0
  #images = 0
  #audioSeconds = 0
  /** Seconds that were transcribed and not billed yet. */
  #transcribed = 0

  audio(bytes: number): void {
    const seconds = bytes / this.inBytesPerSecond
    this.#audioSeconds += seconds
    this.secondsIn += seconds
  }

  add({ audioBytes, textBytes, images }: Added): void {
    if (audioBytes > 0) this.audio(audioBytes)
    this.#textBytes += textBytes
    this.#images += images
  }

  output(output: Output, audioBytes: number, textBytes: number): void {
    output.audioBytes += audioBytes
    output.textBytes += textBytes
    this.secondsOut += audioBytes / this.outBytesPerSecond
  }

  transcribed(seconds: number): void {
    this.#transcribed += seconds
  }

  /** Each second is told once. */
  takeTranscribed(): number {
    const seconds = this.#transcribed
    this.#transcribed = 0
    return seconds
  }

  /** Tokens of the conversation now. */
  get conversationTokens(): number {
    const { text, audio } = estimatedTokens(this.#textBytes, this.#audioSeconds, inTokensPerSecond)
    return this.#reported + text + audio + this.#images * imageTokens
  }

  /** What a response has used, as far as it has come. */
  estimate(output: Output): Counts {
    const { audio: audioIn } = estimatedTokens(0, this.#audioSeconds, inTokensPerSecond)
    const out = estimatedTokens(output.textBytes, output.audioBytes / this.outBytesPerSecond, outTokensPerSecond)
    return {
      inTokens: this.conversationTokens,
      outTokens: out.text + out.audio,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      dims: { ...(audioIn > 0 && { audio_in: audioIn }), ...(out.audio > 0 && { audio_out: out.audio }) },
    }
  }

  /** A response has ended with these counts: its input and its output are the conversation. */
  ended(counts: Counts): void {
    this.#reported = inputTokens(counts) + counts.outTokens
    this.#textBytes = 0
    this.#images = 0
    this.#audioSeconds = 0
  }
}
