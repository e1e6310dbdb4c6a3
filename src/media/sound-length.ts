/** How long sound is, by its head; where the head does not say so, as long as its bytes can be. */
import { parseBuffer } from "music-metadata"
import type { MediaFile } from "./media-file.ts"

export interface SoundLength {
  /** At least one; what is held. */
  readonly seconds: number
  /** Whether the head says it: then a vendor cannot have heard more. */
  readonly isKnown: boolean
}

/** Bytes of a second at the lowest rate of a format; of the lowest of all for formats that are not listed. */
const lowestRates: Readonly<Record<string, number>> = { mp3: 1000, wav: 4000, flac: 1000, m4a: 1000, ogg: 750 }
const lowestRate = 750

const containers: ReadonlyArray<readonly [RegExp, keyof typeof lowestRates]> = [
  [/MPEG|mp3/i, "mp3"],
  [/WAV/i, "wav"],
  [/FLAC/i, "flac"],
  [/M4A|MP4|isom/i, "m4a"],
  [/Ogg/i, "ogg"],
]

/** @param mime as its sender names it; what the content is counts more */
export const soundLength = async ({ head, bytes }: MediaFile, mime: string): Promise<SoundLength> => {
  const { container = "", duration, isExact } = await readHead(head, bytes, mime)
  const format = containers.find(([name]) => name.test(container))?.[1]
  const perSecond = (format === undefined ? undefined : lowestRates[format]) ?? lowestRate
  const most = Math.max(1, Math.ceil(bytes / perSecond))
  const isKnown = isExact && duration !== undefined && duration > 0 && duration <= most
  return { seconds: isKnown ? Math.max(1, Math.ceil(duration)) : most, isKnown }
}

interface Head {
  readonly container?: string | undefined
  readonly duration?: number | undefined
  readonly isExact: boolean
}

const readHead = async (head: Buffer, bytes: number, mimeType: string): Promise<Head> => {
  try {
    const { format } = await parseBuffer(head, { mimeType, size: bytes }, { skipCovers: true })
    const { container, duration, codecProfile, lossless } = format
    // Without the head of a variable rate, the rate of the first frames of an MP3 says nothing of the others.
    const isExact = container === "MPEG" ? codecProfile === "CBR" || format.numberOfSamples !== undefined : true
    if (container === "WAVE" && lossless === true) return { container, duration: waveLength(format, bytes), isExact }
    return { container, duration, isExact }
  } catch {
    return { isExact: false }
  }
}

/** The bytes that are there count, and not those that the head promises. */
const waveLength = (
  {
    sampleRate = 0,
    bitsPerSample = 0,
    numberOfChannels = 0,
    duration,
  }: {
    readonly sampleRate?: number
    readonly bitsPerSample?: number
    readonly numberOfChannels?: number
    readonly duration?: number
  },
  bytes: number,
): number | undefined => {
  const perSecond = (sampleRate * bitsPerSample * numberOfChannels) / 8
  return perSecond > 0 ? Math.min(duration ?? Number.POSITIVE_INFINITY, bytes / perSecond) : undefined
}
