/** Segments of speech, for vendors that report only the times of words, and perhaps the speakers. */
import type { Segment, Word } from "../../protocol/kinds/transcription.ts"
import type { Transcribed, TranscriptionAsked } from "../media-dialect.ts"
import type { EncodeRefusal } from "../wire.ts"

/** The length of two lines of a subtitle. */
const mostCharacters = 84
/** A pause that ends a segment. */
const pauseSeconds = 1

export interface SpokenWord extends Word {
  readonly speaker: string | undefined
}

/** The first field that vendors of words do not support. */
export const refusalOf = ({
  translate,
  prompt,
  chunking,
  speakers,
  logprobs,
}: TranscriptionAsked): EncodeRefusal | undefined => {
  const refuse = (capability: string, message: string): EncodeRefusal => ({ capability, message })
  if (translate) return refuse("translate", "this vendor does not translate")
  if (prompt !== undefined) return refuse("prompt", "this vendor takes no prompt")
  if (chunking !== undefined && chunking !== "auto") return refuse("chunking", "this vendor cuts recordings by itself")
  if (speakers !== undefined) return refuse("speakers", "this vendor knows no voices")
  return logprobs === true ? refuse("logprobs", "this vendor reports no probabilities") : undefined
}

/** Words, and segments made of them; nothing if there are none. */
export const spokenOf = (spoken: ReadonlyArray<SpokenWord>): Pick<Transcribed, "words" | "segments"> =>
  spoken.length === 0
    ? {}
    : { words: spoken.map(({ word, start, end }) => ({ word, start, end })), segments: segmentsOf(spoken) }

const segmentsOf = (words: ReadonlyArray<SpokenWord>): ReadonlyArray<Segment> => {
  const segments: Array<Segment> = []
  let open: Segment | undefined
  for (const { word, start, end, speaker } of words) {
    const isNew =
      open === undefined ||
      open.speaker !== speaker ||
      /[.!?。！？]$/.test(open.text) ||
      open.text.length + word.length >= mostCharacters ||
      start - open.end >= pauseSeconds
    if (open !== undefined && isNew) segments.push(open)
    open =
      isNew || open === undefined
        ? { text: word, start, end, ...(speaker !== undefined && { speaker }) }
        : { ...open, text: `${open.text} ${word}`, end }
  }
  return open === undefined ? segments : [...segments, open]
}
