/** Pictures and sound for tests, made here. */
import { wavHead } from "./wav.ts"

/** A WAV file: 16 kHz, 16 bit, one channel. @param claimed the length of its data that its head claims */
export const wavOf = (seconds: number, claimed = seconds * 32_000): Buffer =>
  Buffer.concat([wavHead(claimed, 16_000, 2), Buffer.alloc(Math.round(seconds * 32_000))])

/** An MP3 file of a constant rate, 32 kbit/s, without a head: frames of silence. */
export const mp3Of = (seconds: number): Buffer => {
  // MPEG 1 layer III, 32 kbit/s, 32 kHz, one channel: 144 bytes and 36 ms a frame.
  const frame = Buffer.alloc(144)
  frame.set([0xff, 0xfb, 0x18, 0xc0])
  return Buffer.concat(Array.from({ length: Math.round(seconds / 0.036) }, () => frame))
}

/** The head of a FLAC file that says how long it is, and silence of so many bytes. */
export const flacOf = (seconds: number, bytes = 1000): Buffer => {
  const head = Buffer.alloc(42)
  head.write("fLaC", "latin1")
  head.set([0x80, 0, 0, 34, 16, 0, 16, 0], 4)
  // 44,100 Hz, one channel, 16 bits, and the number of samples in 36 bits.
  head.writeBigUInt64BE((44_100n << 44n) | (15n << 36n) | BigInt(44_100 * seconds), 18)
  return Buffer.concat([head, Buffer.alloc(bytes)])
}

/** A picture of one point. */
export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
)
