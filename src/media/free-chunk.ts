/**
 * Frees the memory of a chunk that is not used any more. The collector runs only after 32 MiB of chunks, because they are
 * outside its heap. A chunk that is a part of its buffer is not freed: others may use the rest.
 */
export const freeChunk = (chunk: Uint8Array): void => {
  if (chunk.buffer instanceof ArrayBuffer && chunk.byteLength === chunk.buffer.byteLength) chunk.buffer.transfer(0)
}

/** The chunks as one; they are freed. */
export const joinChunks = (chunks: ReadonlyArray<Uint8Array>): Buffer => {
  const whole = Buffer.concat(chunks)
  chunks.forEach(freeChunk)
  return whole
}
