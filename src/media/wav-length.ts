/**
 * Counts the length of a WAV file by its bytes, if each second has the same number: its head may claim less or more. Nothing
 * is counted if the head contradicts itself, has its format twice, or is not of sound that people record. Source: RIFF/WAVE,
 * "Multimedia Programming Interface and Data Specifications 1.0"; RFC 2361 (format tags).
 */

const pcm = 1
const float = 3
const aLaw = 6
const muLaw = 7
const extensible = 0xfffe
const riffHeadBytes = 12
const chunkHeadBytes = 8
const shortestFormatBytes = 16

interface Format {
  readonly tag: number
  readonly channels: number
  readonly sampleRate: number
  readonly bytesPerSecond: number
  readonly blockBytes: number
  readonly bits: number
}

/** @returns undefined if the length is not sure */
export const wavSeconds = (head: Buffer, bytes: number): number | undefined => {
  if (head.toString("latin1", 0, 4) !== "RIFF" || head.toString("latin1", 8, 12) !== "WAVE") return undefined
  let format: Format | undefined
  let at = riffHeadBytes
  while (at + chunkHeadBytes <= head.length) {
    const id = head.toString("latin1", at, at + 4)
    const size = head.readUInt32LE(at + 4)
    const content = at + chunkHeadBytes
    if (id === "data") return format === undefined ? undefined : (bytes - content) / format.bytesPerSecond
    if (id === "fmt ") {
      if (format !== undefined || size < shortestFormatBytes || content + size > head.length) return undefined
      format = sureFormat(readFormat(head.subarray(content, content + size)))
      if (format === undefined) return undefined
    }
    // Chunks begin at even places.
    at = content + size + (size % 2)
  }
  return undefined
}

const readFormat = (chunk: Buffer): Format => {
  const tag = chunk.readUInt16LE(0)
  return {
    // The sub-format of an extensible one begins with the tag that it stands for.
    tag: tag === extensible && chunk.length >= 26 ? chunk.readUInt16LE(24) : tag,
    channels: chunk.readUInt16LE(2),
    sampleRate: chunk.readUInt32LE(4),
    bytesPerSecond: chunk.readUInt32LE(8),
    blockBytes: chunk.readUInt16LE(12),
    bits: chunk.readUInt16LE(14),
  }
}

const bitsOf: ReadonlyMap<number, ReadonlyArray<number>> = new Map([
  [pcm, [8, 16, 24, 32]],
  [float, [32, 64]],
  [aLaw, [8]],
  [muLaw, [8]],
])

/** The format if its figures agree with each other, and are those of sound; a decoder's result for others is not known. */
const sureFormat = (format: Format): Format | undefined => {
  const { tag, channels, sampleRate, bytesPerSecond, blockBytes, bits } = format
  if (bitsOf.get(tag)?.includes(bits) !== true) return undefined
  if (channels < 1 || channels > 8 || sampleRate < 4000 || sampleRate > 192_000) return undefined
  const agrees = blockBytes === (channels * bits) / 8 && bytesPerSecond === sampleRate * blockBytes
  return agrees ? format : undefined
}
