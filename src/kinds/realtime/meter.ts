/**
 * The sound and text that a realtime session has sent and received, counted as they pass: used if a vendor does not report
 * them.
 */

import { openaiRates, usualBytesPerSecond } from "../../dialects/openai-realtime/audio.ts"
import { type Added, noTranscript, type TokenRates, type TranscriptUsage } from "../../dialects/realtime-dialect.ts"
import { type Counts, inputTokens } from "../../money/pricing.ts"
import { estimatedTokens, mostTranscripts } from "./plan.ts"

/** A response's output so far. */
export interface Output {
  audioBytes: number
  textBytes: number
}

export class SessionMeter {
  readonly #rates: TokenRates
  inBytesPerSecond = usualBytesPerSecond
  outBytesPerSecond = usualBytesPerSecond
  /** Seconds of sound in both directions, since the session began. */
  secondsIn = 0
  secondsOut = 0
  /** Tokens of the conversation, as the vendor has last reported them. */
  #reported = 0
  /** Bytes of text since that report. */
  #textBytes = 0
  #images = 0
  #audioSeconds = 0
  /** Transcripts that were not billed yet. */
  #transcripts = noTranscript
  /** Seconds of sound whose transcripts were not billed yet: since the last response ended, and in the turn before that. */
  #heardSeconds = 0
  #heardBeforeSeconds = 0

  constructor(rates: TokenRates = openaiRates) {
    this.#rates = rates
  }

  /** The conversation has these tokens already. */
  resumed(tokens: number): void {
    this.#reported = tokens
  }

  audio(bytes: number): void {
    const seconds = bytes / this.inBytesPerSecond
    this.#audioSeconds += seconds
    this.secondsIn += seconds
    this.#heardSeconds += seconds
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

  transcribed({ seconds, inTokens, outTokens }: TranscriptUsage): void {
    const before = this.#transcripts
    this.#transcripts = {
      seconds: before.seconds + seconds,
      inTokens: before.inTokens + inTokens,
      outTokens: before.outTokens + outTokens,
    }
  }

  /**
   * Seconds of sound whose transcripts may still be billed. A transcript may come after the response that followed its sound.
   * One that has not come when the next response ends is expected no longer: a session may have none at all.
   */
  get unbilledSeconds(): number {
    return this.#heardSeconds + this.#heardBeforeSeconds
  }

  /** Whether transcripts wait to be billed that are more than `most`, in one of their counts. */
  hasTranscripts(most: TranscriptUsage = noTranscript): boolean {
    const { seconds, inTokens, outTokens } = this.#transcripts
    return seconds > most.seconds || inTokens > most.inTokens || outTokens > most.outTokens
  }

  /** Returns each transcript once, and no more than the sound that was heard can have. */
  takeTranscripts(): TranscriptUsage {
    const { seconds, inTokens, outTokens } = this.#transcripts
    const most = mostTranscripts(this.unbilledSeconds)
    if (seconds + inTokens > 0) {
      this.#heardSeconds = 0
      this.#heardBeforeSeconds = 0
    }
    this.#transcripts = noTranscript
    return {
      seconds: Math.min(seconds, most.seconds),
      inTokens: Math.min(inTokens, most.inTokens),
      outTokens: Math.min(outTokens, most.outTokens),
    }
  }

  /** Tokens of the conversation now. */
  get conversationTokens(): number {
    const { inTokensPerSecond, imageTokens } = this.#rates
    const { text, audio } = estimatedTokens(this.#textBytes, this.#audioSeconds, inTokensPerSecond)
    return this.#reported + text + audio + this.#images * imageTokens
  }

  /** The usage of a response so far. */
  estimate(output: Output): Counts {
    const { inTokensPerSecond, outTokensPerSecond } = this.#rates
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
    this.#heardBeforeSeconds = this.#heardSeconds
    this.#heardSeconds = 0
  }
}
