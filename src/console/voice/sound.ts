/** Sound in a browser: the microphone, and the playback of the model's sound, as 16-bit samples in base64. */
import { playedRate } from "./protocol.ts"

/** Samples that are sent at a time. */
const frameSamples = 2048

/** A microphone that is on. */
export interface Microphone {
  /** Begins to hand over its sound. */
  readonly listen: (take: (base64: string) => void) => void
  readonly stop: () => void
}

/** Asks the person for the microphone. @param samplesPerSecond of the sound that it hands over */
export const openMicrophone = async (samplesPerSecond: number): Promise<Microphone> => {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
  const context = new AudioContext({ sampleRate: samplesPerSecond })
  return {
    listen: (take) => {
      const processor = context.createScriptProcessor(frameSamples, 1, 1)
      processor.onaudioprocess = ({ inputBuffer }) => take(base64Of(inputBuffer.getChannelData(0)))
      context.createMediaStreamSource(stream).connect(processor)
      processor.connect(context.destination)
    },
    stop: () => {
      for (const track of stream.getTracks()) track.stop()
      void context.close().catch(() => {})
    },
  }
}

export interface Player {
  /** Plays a part after those before it. */
  readonly play: (base64: string) => void
  /** Ends the sound that plays or waits. @returns whether there was some */
  readonly silence: () => boolean
  readonly stop: () => void
}

export const openPlayer = (): Player => {
  const context = new AudioContext({ sampleRate: playedRate })
  const sources = new Set<AudioBufferSourceNode>()
  /** The time when the sound so far has been played. */
  let playedAt = 0
  return {
    play: (base64) => {
      const samples = samplesOf(base64)
      if (samples.length === 0) return
      const buffer = context.createBuffer(1, samples.length, playedRate)
      buffer.copyToChannel(samples, 0)
      const source = context.createBufferSource()
      source.buffer = buffer
      source.connect(context.destination)
      source.onended = () => sources.delete(source)
      sources.add(source)
      playedAt = Math.max(playedAt, context.currentTime)
      source.start(playedAt)
      playedAt += buffer.duration
    },
    silence: () => {
      const wasPlaying = sources.size > 0
      for (const source of sources) source.stop()
      sources.clear()
      playedAt = 0
      return wasPlaying
    },
    stop: () => void context.close().catch(() => {}),
  }
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
