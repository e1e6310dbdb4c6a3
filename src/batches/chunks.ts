/** Requests of a batch in parts, each of which a node takes at once. Pure. */
import type { NewChunk } from "./batch.ts"

/** The most requests of a part, and their bytes: a longer request is a part of its own. */
const mostLines = 16
const mostBytes = 1024 * 1024

/** Adds a request to the last part, if it follows that and has room there; otherwise it begins another. */
export const addToChunks = (
  chunks: Array<NewChunk>,
  { number, place, bytes }: { readonly number: number; readonly place: number; readonly bytes: number },
): void => {
  const last = chunks.at(-1)
  const follows = last !== undefined && last.first + last.lines === number
  if (follows && last.lines < mostLines && last.bytes + bytes <= mostBytes) {
    chunks[chunks.length - 1] = { ...last, lines: last.lines + 1, bytes: last.bytes + bytes }
  } else chunks.push({ first: number, lines: 1, place, bytes })
}
