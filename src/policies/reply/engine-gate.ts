/**
 * Asks engines about a text that arrives in parts: a piece to the end of a sentence, or of all that has come if no sentence
 * ends in time. The text up to there goes on when they have answered. One question at a time, with the words before the
 * piece, so that nothing hides in a cut.
 */

/** How engines are asked about a reply. */
export interface EngineAsking {
  /** Asks about a text; false if it is denied. Never fails: a policy says what a failure means. */
  readonly ask: (text: string) => Promise<boolean>
  /** Calls a function after the longest time that a piece waits for its sentence. */
  readonly later: (due: () => void) => void
  /** Called after an answer: more text may go on. */
  readonly answered: () => void
}

/** The end of a sentence, which is one only if a space follows. */
const sentenceEnd = /[.!?:;。！？\n](?=\s)/g
/** A piece without the end of a sentence is asked about at this length. */
const longestPiece = 2000
/** Characters before a piece that are asked about again. */
const sharedLength = 200

export class EngineGate {
  readonly #asking: EngineAsking
  /** The text that is not clear. */
  #text = ""
  #before = ""
  #isAsking = false
  #isDue = false
  #isTimed = false
  #hasEnded = false
  #idle: (() => void) | undefined
  /** The offset before which the engines have no objection. */
  clearTo: number

  /** @param from the offset at which its text begins */
  constructor(asking: EngineAsking, from = 0) {
    this.#asking = asking
    this.clearTo = from
  }

  push(text: string): void {
    this.#text += text
    this.#next()
  }

  end(): void {
    this.#hasEnded = true
    this.#next()
  }

  /** Waits until all of the text has an answer. */
  get settled(): Promise<void> {
    if (this.#text === "" || !this.#hasEnded) return Promise.resolve()
    return new Promise((resolve) => {
      this.#idle = resolve
    })
  }

  #next(): void {
    if (this.#isAsking || this.#text === "") return
    const length = this.#hasEnded || this.#isDue ? this.#text.length : this.#sentence()
    if (length > 0) this.#ask(length)
    else if (!this.#isTimed) {
      this.#isTimed = true
      this.#asking.later(() => {
        this.#isTimed = false
        this.#isDue = true
        this.#next()
      })
    }
  }

  #sentence(): number {
    if (this.#text.length >= longestPiece) return this.#text.length
    let end = 0
    for (const { index } of this.#text.matchAll(sentenceEnd)) end = index + 1
    return end
  }

  #ask(length: number): void {
    const piece = this.#text.slice(0, length)
    this.#isAsking = true
    this.#isDue = false
    void this.#asking.ask(this.#before + piece).then((isClear) => {
      this.#isAsking = false
      this.#text = this.#text.slice(length)
      this.#before = (this.#before + piece).slice(-sharedLength)
      if (isClear) this.clearTo += length
      else this.#text = ""
      this.#asking.answered()
      this.#next()
      if (this.#text === "") this.#idle?.()
    })
  }
}
