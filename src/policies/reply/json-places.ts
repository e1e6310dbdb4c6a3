/** The places of JSON that comes in pieces: in a text, or in a number or word, of which a mark replaces all. Pure. */
export class JsonPlaces {
  /** A number or word at the end of the pieces, which may go on. */
  #open = ""
  readonly #pushed = new Quotes()
  /** The text from {@link JsonPlaces.#from} on: the beginning of the number or word at {@link JsonPlaces.#at}, or that place. */
  #text = ""
  #from = 0
  #at = 0
  readonly #read = new Quotes()

  /** @param text the first piece, if nothing follows it */
  constructor(text = "") {
    this.push(text)
    this.end()
  }

  /** @returns the text that is complete: a number or word at its end waits for the next piece */
  push(piece: string): string {
    let open = this.#open === "" ? undefined : 0
    for (let at = 0; at < piece.length; at++) {
      const isWord = this.#pushed.isWord(piece[at] ?? "")
      if (!isWord) open = undefined
      else open ??= this.#open.length + at
    }
    const text = this.#open + piece
    const end = open === undefined || text.length - open > longestWord ? text.length : open
    this.#open = text.slice(end)
    this.#text += text.slice(0, end)
    return text.slice(0, end)
  }

  /** No piece follows, or the text waits no more. @returns the rest of it */
  end(): string {
    const rest = this.#open
    this.#open = ""
    this.#text += rest
    return rest
  }

  /** Whether a place is in a text. @param offset not before the one of the last call */
  isInText(offset: number): boolean {
    this.#readTo(offset)
    return this.#read.isInText
  }

  /** Whether a place is in the name of a member. @param offset as above */
  isInName(offset: number): boolean {
    this.#readTo(offset)
    return this.#read.isInName
  }

  /** The beginning of the number or word at a place, or the place. @param offset not before the one of the last call */
  wordFrom(offset: number): number {
    this.#readTo(offset)
    return this.#from
  }

  /** A part of the text outside of texts, with the whole numbers and words in it. @param start as above */
  words(start: number, end: number): { readonly start: number; readonly text: string } {
    this.#readTo(start)
    let to = end - this.#from
    if (!wordEnd.test(this.#text[to - 1] ?? ""))
      while (to < this.#text.length && !wordEnd.test(this.#text[to] ?? "")) to++
    return { start: this.#from, text: this.#text.slice(0, to) }
  }

  #readTo(offset: number): void {
    const end = Math.min(offset, this.#from + this.#text.length)
    let from = this.#from
    for (; this.#at < end; this.#at++) {
      if (!this.#read.isWord(this.#text[this.#at - this.#from] ?? "")) from = this.#at + 1
    }
    this.#text = this.#text.slice(from - this.#from)
    this.#from = from
  }
}

/** Reads JSON, one character after the other. */
class Quotes {
  isInText = false
  isInName = false
  #isEscaped = false
  /** The containers around the place: `{` or `[` of each. */
  readonly #around: Array<string> = []
  #isBeforeName = false

  /** Whether the character is part of a number or word outside of texts. */
  isWord(character: string): boolean {
    const isWord = !this.isInText && !wordEnd.test(character)
    if (this.#isEscaped) this.#isEscaped = false
    else if (this.isInText && character === "\\") this.#isEscaped = true
    else if (character === `"`) {
      this.isInText = !this.isInText
      this.isInName = this.isInText && this.#isBeforeName
    } else if (!this.isInText) this.#place(character)
    return isWord
  }

  #place(character: string): void {
    if (character === "{" || character === "[") this.#around.push(character)
    else if (character === "}" || character === "]") this.#around.pop()
    else if (character !== "," && character !== ":") return
    this.#isBeforeName = character !== ":" && this.#around.at(-1) === "{"
  }
}

const wordEnd = /[\s,:{}[\]"]/
const longestWord = 1024
