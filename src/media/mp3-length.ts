/**
 * Counts the length of an MP3 by its frames, all of them: its head may claim less, and the rate of the first frames may
 * differ from the others. Source: ISO/IEC 11172-3, 2.4.1.3 (frame header) and 2.4.3.1; ID3v2.4.0, 3.1 (tag header).
 */

/** Kilobits a second by the header's index, for layers 1 to 3 of MPEG 1, and for layer 1 and layers 2 and 3 of MPEG 2. */
const ratesOfMpeg1 = [
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
]
const lowRates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
const ratesOfMpeg2 = [[0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256], lowRates, lowRates]
const sampleRates = [44_100, 48_000, 32_000]

const headerBytes = 4
const tagHeaderBytes = 10

interface Frame {
  readonly bytes: number
  readonly seconds: number
  /** The parts of a header that all frames of a file share: version, layer and sample rate. */
  readonly kind: number
}

/** The frame whose header begins at a place; undefined if there is none. */
const frameAt = (bytes: Uint8Array, at: number): Frame | undefined => {
  const [first = 0, second = 0, third = 0] = [bytes[at], bytes[at + 1], bytes[at + 2]]
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined
  const version = (second >> 3) & 3
  const layer = 4 - ((second >> 1) & 3)
  const base = sampleRates[(third >> 2) & 3]
  if (version === 1 || layer === 4 || base === undefined) return undefined
  const isMpeg1 = version === 3
  const kilobits = (isMpeg1 ? ratesOfMpeg1 : ratesOfMpeg2)[layer - 1]?.[third >> 4] ?? 0
  // A free rate has no length in its header; no known encoder makes one.
  if (kilobits === 0) return undefined
  const sampleRate = isMpeg1 ? base : version === 2 ? base / 2 : base / 4
  const padding = (third >> 1) & 1
  const samples = layer === 1 ? 384 : layer === 3 && !isMpeg1 ? 576 : 1152
  const slotBytes = layer === 1 ? 4 : 1
  const slots = Math.floor(((samples / 8) * kilobits * 1000) / (sampleRate * slotBytes)) + padding
  return { bytes: slots * slotBytes, seconds: samples / sampleRate, kind: (second & 0x1e) | ((third & 0x0c) << 8) }
}

/** The bytes of an ID3v2 tag at the beginning; none without a tag. */
const tagBytes = (head: Uint8Array): number => {
  if (head[0] !== 0x49 || head[1] !== 0x44 || head[2] !== 0x33) return 0
  const [a = 0, b = 0, c = 0, d = 0] = head.subarray(6, tagHeaderBytes)
  return tagHeaderBytes + (((a & 127) << 21) | ((b & 127) << 14) | ((c & 127) << 7) | (d & 127))
}

/** Bytes between frames are taken for sound of the lowest rate: a decoder may find frames there that this did not. */
const lowestBytesPerSecond = 1000
/** Other tags than at the beginning: ID3v1, APE, lyrics. */
const tagsBytes = 4096

/** The most seconds that its frames have. All are of the kind of the first, as decoders require. */
export const mp3Seconds = async (head: Uint8Array, chunks: AsyncIterable<Uint8Array>): Promise<number> => {
  let seconds = 0
  let passedOver = 0
  let kind: number | undefined
  let toSkip = tagBytes(head)
  let rest: Uint8Array = new Uint8Array()
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (at + headerBytes <= bytes.length) {
      if (toSkip > 0) {
        const skipped = Math.min(toSkip, bytes.length - at)
        at += skipped
        toSkip -= skipped
        continue
      }
      const frame = frameAt(bytes, at)
      if (frame === undefined || (kind !== undefined && frame.kind !== kind)) {
        at++
        passedOver++
      } else {
        kind = frame.kind
        seconds += frame.seconds
        toSkip = frame.bytes
      }
    }
    // The chunk may be overwritten before the next one is read.
    rest = Buffer.from(bytes.subarray(at))
  }
  return kind === undefined ? 0 : seconds + Math.max(0, passedOver - tagsBytes) / lowestBytesPerSecond
}
