/** Lines of a process's output, each of a bounded size. */

/** The ends of a line that was too long. */
export interface LongLine {
  readonly head: string
  readonly tail: string
}

export interface LineListener {
  readonly line: (text: string) => void
  /** A line was longer than it may be; its middle is lost. */
  readonly longLine: (line: LongLine) => void
  /** A line has no end within many times the size of a line: the output is not read any more. */
  readonly endless: () => void
}

/** The bytes of each end of a long line that are kept. */
const endBytes = 512
/** A line without end is read up to so many times the size of a line. */
const endlessFactor = 16
const lineFeed = 0x0a

export class LineReader {
  readonly #maxBytes: number
  readonly #listener: LineListener
  #pieces: Array<Buffer> = []
  #bytes = 0
  /** The ends of the line that is read, if it is too long. */
  #ends: { readonly head: Buffer; tail: Buffer } | undefined
  #isEndless = false

  constructor(maxBytes: number, listener: LineListener) {
    this.#maxBytes = maxBytes
    this.#listener = listener
  }

  /** The bytes of lines that are not complete. */
  get heldBytes(): number {
    return this.#ends === undefined ? this.#bytes : 2 * endBytes
  }

  read(chunk: Buffer): void {
    let begin = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, begin)) {
      if (this.#isEndless) return
      this.#add(chunk.subarray(begin, end))
      this.#finish()
      begin = end + 1
    }
    if (!this.#isEndless) this.#add(chunk.subarray(begin))
  }

  /** Reads the rest that has no line feed. */
  end(): void {
    if (this.#bytes > 0 && !this.#isEndless) this.#finish()
  }

  #add(piece: Buffer): void {
    if (piece.length === 0) return
    this.#bytes += piece.length
    if (this.#ends !== undefined) {
      this.#ends.tail = Buffer.concat([this.#ends.tail, piece.subarray(-endBytes)]).subarray(-endBytes)
    } else {
      this.#pieces.push(piece)
      if (this.#bytes > this.#maxBytes) this.#shorten()
    }
    if (this.#bytes > this.#maxBytes * endlessFactor) {
      this.#isEndless = true
      this.#ends = undefined
      this.#listener.endless()
    }
  }

  #shorten(): void {
    const text = Buffer.concat(this.#pieces)
    // Copies: a view would keep the whole text.
    this.#ends = { head: Buffer.from(text.subarray(0, endBytes)), tail: Buffer.from(text.subarray(-endBytes)) }
    this.#pieces = []
  }

  #finish(): void {
    const ends = this.#ends
    const [first = Buffer.alloc(0)] = this.#pieces
    const text = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : first
    this.#pieces = []
    this.#bytes = 0
    this.#ends = undefined
    if (ends === undefined) this.#listener.line(text.toString("utf8"))
    else this.#listener.longLine({ head: ends.head.toString("utf8"), tail: ends.tail.toString("utf8") })
  }
}
