/**
 * The length of a recording. The length in a file's head may be too short, and the vendor may hear more. So the hold is
 * for the longest recording of so many bytes, unless the length is counted: the samples of a WAV file, the frames of an
 * MP3.
 */
import { type IFormat, parseBuffer } from "music-metadata"
import type { MediaFile } from "./media-file.ts"
import { mp3Seconds } from "./mp3-length.ts"
import { wavSeconds } from "./wav-length.ts"

export interface SoundLength {
  /** The most seconds that a vendor can hear, at least one: they are held. */
  readonly most: number
  /** The seconds that are billed if the vendor reports none: counted, or by its head as far as that can be true. */
  readonly likely: number
  /** Whether they are counted. */
  readonly isCounted: boolean
}

/** Bytes of one second. */
interface Rates {
  readonly lowest: number
  readonly highest: number
}

/** The highest rate of compressed sound that people hear, and the lowest of speech. */
const anyRates: Rates = { lowest: 750, highest: 64_000 }
const rates: ReadonlyArray<readonly [container: RegExp, Rates]> = [
  [/MPEG|mp3/i, { lowest: 1000, highest: 40_000 }],
  [/WAV|AIFF/i, { lowest: 4000, highest: 200_000 }],
  // 24 bits of two channels at 192 kHz, not compressed at all.
  [/FLAC/i, { lowest: 1000, highest: 1_152_000 }],
  [/M4A|MP4|isom/i, { lowest: 1000, highest: 64_000 }],
  [/Ogg/i, anyRates],
]

/** @param mime the type that its sender names; the content decides first */
export const soundLength = async (file: MediaFile, mime: string): Promise<SoundLength> => {
  const format = await readHead(file, mime)
  const counted = await countedSeconds(file, format)
  if (counted !== undefined) {
    const seconds = wholeSeconds(counted)
    return { most: seconds, likely: seconds, isCounted: true }
  }
  const { container = "", duration = 0 } = format
  const { lowest, highest } = rates.find(([name]) => name.test(container))?.[1] ?? anyRates
  const most = wholeSeconds(file.bytes / lowest)
  const canBe = duration <= most && duration >= file.bytes / highest
  return { most, likely: canBe ? wholeSeconds(duration) : most, isCounted: false }
}

const wholeSeconds = (seconds: number): number => Math.max(1, Math.ceil(seconds))

type Head = Partial<IFormat>

const readHead = async ({ head, bytes }: MediaFile, mimeType: string): Promise<Head> => {
  try {
    return (await parseBuffer(head, { mimeType, size: bytes }, { skipCovers: true })).format
  } catch {
    return {}
  }
}

const countedSeconds = async ({ head, bytes, chunks }: MediaFile, { container, codec = "" }: Head) => {
  if (container === "WAVE") return wavSeconds(head, bytes)
  if (container !== "MPEG" || !/layer/i.test(codec)) return undefined
  const seconds = await mp3Seconds(head, chunks())
  return seconds > 0 ? seconds : undefined
}
