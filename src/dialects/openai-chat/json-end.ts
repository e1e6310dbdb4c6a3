/** Finds the end of an object or a list whose JSON comes in pieces. Each piece is read once, however many there are. */
export class JsonEnd {
  #level = 0
  #isString = false
  #isEscaped = false
  /** Whether it has ended. */
  isReached = false

  read(piece: string): void {
    for (const unit of piece) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (this.#isString) {
        if (unit === "\\") this.#isEscaped = true
        else if (unit === `"`) this.#isString = false
      } else if (unit === `"`) this.#isString = true
      else if (unit === "{" || unit === "[") this.#level++
      else if ((unit === "}" || unit === "]") && --this.#level === 0) this.isReached = true
    }
  }
}
