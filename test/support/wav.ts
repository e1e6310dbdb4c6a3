/** The head of a recording: 8,000 samples a second, one byte each. @param bytes of its data */
export const wavHead = (bytes: number): Buffer => {
  const head = Buffer.alloc(44)
  head.write("RIFF", 0, "latin1")
  head.writeUInt32LE(36 + bytes, 4)
  head.write("WAVEfmt ", 8, "latin1")
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(8000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write("data", 36, "latin1")
  head.writeUInt32LE(bytes, 40)
  return head
}
