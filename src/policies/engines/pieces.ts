/** Long texts in pieces that an engine takes. Pure. */

export interface Piece {
  /** Its offset in the text, in UTF-16 code units. */
  readonly at: number
  readonly text: string
}

/** The characters that two pieces share, so that nothing hides in a cut. */
export const sharedChars = 1024

/**
 * None begins or ends in the middle of a character.
 * @param longest more than twice the characters that pieces share
 */
export const piecesOf = (text: string, longest: number): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  for (let from = 0, to = 0; to < text.length; from = wholeAt(text, to - sharedChars)) {
    to = wholeAt(text, from + longest)
    pieces.push({ at: from, text: text.slice(from, to) })
  }
  return pieces
}

/** The place itself, or the one before it if that cuts a pair of surrogates. */
const wholeAt = (text: string, at: number): number => (isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at)
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
