/** The head of a recording with one channel. @param bytes of its data, as the head claims them @param sampleBytes of each sample */
export const wavHead = (bytes: number, rate = 8000, sampleBytes = 1): Buffer => {
  const head = Buffer.alloc(44)
  head.write("RIFF", 0, "latin1")
  head.writeUInt32LE(Math.min(0xffffffff, 36 + bytes), 4)
  head.write("WAVEfmt ", 8, "latin1")
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * sampleBytes, 28)
  head.writeUInt16LE(sampleBytes, 32)
  head.writeUInt16LE(8 * sampleBytes, 34)
  head.write("data", 36, "latin1")
  head.writeUInt32LE(Math.min(0xffffffff, bytes), 40)
  return head
}
