/** How long sound is, by its head; where the head does not say so, as long as its bytes can be. */
import { type IFormat, parseBuffer } from "music-metadata"
import type { MediaFile } from "./media-file.ts"

export interface SoundLength {
  /** At least one; what is held. */
  readonly seconds: number
  /** Whether the head says it. */
  readonly isKnown: boolean
  /** The most that a vendor can have heard: a head may say less than there is, but for one whose bytes are counted. */
  readonly most: number
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
  const { container = "", duration, isExact, bytesPerSecond } = await readHead(head, bytes, mime)
  const format = containers.find(([name]) => name.test(container))?.[1]
  const perSecond = (format === undefined ? undefined : lowestRates[format]) ?? lowestRate
  const longest = wholeSeconds(bytes / perSecond)
  const isKnown = isExact && duration !== undefined && duration > 0 && duration <= longest
  return {
    seconds: isKnown ? wholeSeconds(duration) : longest,
    isKnown,
    most: bytesPerSecond === undefined ? longest : wholeSeconds(bytes / bytesPerSecond),
  }
}

const wholeSeconds = (seconds: number): number => Math.max(1, Math.ceil(seconds))

interface Head {
  readonly container?: string | undefined
  readonly duration?: number | undefined
  readonly isExact: boolean
  /** Where each second has as many. */
  readonly bytesPerSecond?: number | undefined
}

const readHead = async (head: Buffer, bytes: number, mimeType: string): Promise<Head> => {
  try {
    const { format } = await parseBuffer(head, { mimeType, size: bytes }, { skipCovers: true })
    const { container, duration, codecProfile, lossless } = format
    // Without the head of a variable rate, the rate of the first frames of an MP3 says nothing of the others.
    const isExact = container === "MPEG" ? codecProfile === "CBR" || format.numberOfSamples !== undefined : true
    if (container === "WAVE" && lossless === true) {
      const bytesPerSecond = rateOf(format)
      return { container, duration: waveLength(duration, bytes, bytesPerSecond), isExact, bytesPerSecond }
    }
    return { container, duration, isExact }
  } catch {
    return { isExact: false }
  }
}

/** Of samples as they are. */
const rateOf = ({ sampleRate = 0, bitsPerSample = 0, numberOfChannels = 0 }: IFormat): number | undefined => {
  const perSecond = (sampleRate * bitsPerSample * numberOfChannels) / 8
  return perSecond > 0 ? perSecond : undefined
}

/** The bytes that are there count, and not those that the head promises. */
const waveLength = (duration = Number.POSITIVE_INFINITY, bytes: number, perSecond: number | undefined) =>
  perSecond === undefined ? undefined : Math.min(duration, bytes / perSecond)
