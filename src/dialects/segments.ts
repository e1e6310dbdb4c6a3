/** Segments of speech, where a vendor tells the times of words only. */
import type { Segment, Word } from "../protocol/transcription.ts"

/** Two lines of a subtitle. */
const mostCharacters = 84
/** A pause that ends a segment. */
const pauseSeconds = 1

export const segmentsOf = (words: ReadonlyArray<Word>): ReadonlyArray<Segment> => {
  const segments: Array<Segment> = []
  let open: Segment | undefined
  for (const { word, start, end } of words) {
    const isNew =
      open === undefined ||
      /[.!?。！？]$/.test(open.text) ||
      open.text.length + word.length >= mostCharacters ||
      start - open.end >= pauseSeconds
    if (open !== undefined && isNew) segments.push(open)
    open =
      isNew || open === undefined
        ? { text: word, start, end }
        : { text: `${open.text} ${word}`, start: open.start, end }
  }
  return open === undefined ? segments : [...segments, open]
}
