/** Compression of stored replies: fast, and with small buffers for small texts. */
import { constants as bufferConstants } from "node:buffer"
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib"

const params = { [constants.ZSTD_c_compressionLevel]: 1 }
const chunkBytes = { least: 1024, most: 64 * 1024 }
/** A reply compresses to a quarter or less. Node's own 16 KiB take longer to provide than a small reply to compress. */
const usualRatio = 4

/** @param expectedBytes the size of the output */
const chunkSizeFor = (expectedBytes: number): number =>
  Math.min(Math.max(Math.ceil(expectedBytes), chunkBytes.least), chunkBytes.most)

export const compress = (text: string): Buffer => {
  const bytes = Buffer.from(text)
  const { length } = bytes
  return zstdCompressSync(bytes, { params, pledgedSrcSize: length, chunkSize: chunkSizeFor(length / usualRatio) })
}

export const decompress = (bytes: Buffer): string =>
  zstdDecompressSync(bytes, { chunkSize: chunkSizeFor(bytes.length * usualRatio) }).toString("utf8")

/** Undefined if the text is larger than so many bytes. */
export const decompressAtMost = (bytes: Buffer, mostBytes: number): string | undefined => {
  const maxOutputLength = Math.min(mostBytes, bufferConstants.MAX_LENGTH)
  try {
    return zstdDecompressSync(bytes, { chunkSize: chunkSizeFor(bytes.length * usualRatio), maxOutputLength }).toString(
      "utf8",
    )
  } catch (cause) {
    if (cause instanceof RangeError) return undefined
    throw cause
  }
}
