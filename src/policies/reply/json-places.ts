/** The places of JSON that comes in pieces: in a text, or outside of one, where a mark must become a text itself. Pure. */
export class JsonPlaces {
  #unread = ""
  #at = 0
  #isInText = false
  #isEscaped = false

  push(piece: string): void {
    this.#unread += piece
  }

  /** Whether a place is in a text. @param offset not before the one of the last call */
  isInText(offset: number): boolean {
    const end = Math.min(offset - this.#at, this.#unread.length)
    for (let at = 0; at < end; at++) {
      const character = this.#unread[at]
      if (this.#isEscaped) this.#isEscaped = false
      else if (this.#isInText && character === "\\") this.#isEscaped = true
      else if (character === `"`) this.#isInText = !this.#isInText
    }
    if (end > 0) {
      this.#unread = this.#unread.slice(end)
      this.#at += end
    }
    return this.#isInText
  }
}
