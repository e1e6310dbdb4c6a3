/** Pictures and sound for tests, made here. */

/** A WAV file: 16 kHz, 16 bit, one channel. @param claimed the length of its data that its head claims */
export const wavOf = (seconds: number, claimed = seconds * 32_000): Buffer => {
  const data = Math.round(seconds * 32_000)
  const wav = Buffer.alloc(44 + data)
  wav.write("RIFF", 0, "latin1")
  wav.writeUInt32LE(Math.min(0xffffffff, 36 + claimed), 4)
  wav.write("WAVEfmt ", 8, "latin1")
  wav.writeUInt32LE(16, 16)
  wav.writeUInt16LE(1, 20)
  wav.writeUInt16LE(1, 22)
  wav.writeUInt32LE(16_000, 24)
  wav.writeUInt32LE(32_000, 28)
  wav.writeUInt16LE(2, 32)
  wav.writeUInt16LE(16, 34)
  wav.write("data", 36, "latin1")
  wav.writeUInt32LE(Math.min(0xffffffff, claimed), 40)
  return wav
}

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
