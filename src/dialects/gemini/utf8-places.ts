/**
 * Positions in a text, and positions in its UTF-8. A reply may have thousands of citations, so each lookup reads one piece of
 * the text, and not all of it.
 */

interface Piece {
  readonly text: string
  /** The beginning of the piece: in the text, and in its UTF-8. */
  readonly place: number
  readonly byte: number
}

const pieceLength = 8192

export class Utf8Places {
  /** The length of the text's beginning that is ASCII, which is only counted. */
  #ascii = 0
  /** The text after it: pieces, and the part that is not cut yet. */
  readonly #pieces: Array<Piece> = []
  #rest = ""

  add(text: string): void {
    const isAsciiSoFar = this.#rest === "" && this.#pieces.length === 0
    if (isAsciiSoFar && Buffer.byteLength(text) === text.length) this.#ascii += text.length
    else this.#rest += text
  }

  /** The position in the text; undefined if its UTF-8 has no such position. */
  placeAt(byte: number): number | undefined {
    if (byte <= this.#ascii) return byte
    const piece = this.#pieceWith((begin) => begin.byte <= byte)
    const bytes = Buffer.from(piece.text)
    const within = byte - piece.byte
    return within > bytes.length ? undefined : piece.place + bytes.toString("utf8", 0, within).length
  }

  /** The position in the UTF-8; its end for a position behind the end of the text. */
  byteAt(place: number): number {
    if (place <= this.#ascii) return place
    const piece = this.#pieceWith((begin) => begin.place <= place)
    return piece.byte + Buffer.byteLength(piece.text.slice(0, place - piece.place))
  }

  /** The last piece that begins at a position, or before it. */
  #pieceWith(isBefore: (piece: Piece) => boolean): Piece {
    while (this.#rest.length > pieceLength) this.#cut()
    const rest = { text: this.#rest, ...this.#end() }
    return isBefore(rest) ? rest : (this.#pieces.findLast(isBefore) ?? rest)
  }

  #cut(): void {
    let length = pieceLength
    while (isHighSurrogate(this.#rest.charCodeAt(length - 1))) length++
    this.#pieces.push({ text: this.#rest.slice(0, length), ...this.#end() })
    this.#rest = this.#rest.slice(length)
  }

  /** The end of the pieces. */
  #end(): Omit<Piece, "text"> {
    const last = this.#pieces.at(-1)
    if (last === undefined) return { place: this.#ascii, byte: this.#ascii }
    return { place: last.place + last.text.length, byte: last.byte + Buffer.byteLength(last.text) }
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
