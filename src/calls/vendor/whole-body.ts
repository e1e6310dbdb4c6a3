/** The chunks of a body as one; a single one is not copied. */
export const wholeBody = (chunks: ReadonlyArray<Uint8Array>): Buffer => {
  const [only] = chunks
  return only !== undefined && chunks.length === 1
    ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
    : Buffer.concat(chunks)
}
