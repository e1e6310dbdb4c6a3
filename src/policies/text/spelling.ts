/**
 * Other spellings of a text in which rules look for matches: without case, compatibility forms and invisible characters; and
 * JSON without its escapes. A text comes in pieces, cut anywhere; the spelling of all pieces is that of the whole text. Pure.
 */

/** A part of a text in another spelling. */
export interface Spelled {
  readonly text: string
  /** The offset in the own text at which the own characters of each UTF-16 unit begin; one after the other from `from` if absent. */
  readonly starts?: ReadonlyArray<number>
  readonly from: number
  /** The end of the part in the own text. */
  readonly end: number
}

export const startsOf = ({ text, starts, from }: Spelled): ReadonlyArray<number> =>
  starts ?? Array.from({ length: text.length }, (_, at) => from + at)

/** Spells a text that comes in pieces. */
export interface Speller {
  /** The characters that are complete; others wait, because the next piece may belong to them. */
  readonly push: (piece: string) => Spelled
  /** The characters that wait, as if the text ended here; they go on waiting. */
  readonly waiting: () => Spelled
  /** Whether an escape waits for its end. */
  readonly isCut: boolean
}

/** Marks that the character before carries, what joins Hangul syllables, and what is not seen. */
const continuing = /[\p{M}\u1160-\u11ff\uff9e\uff9f\p{Default_Ignorable_Code_Point}]/u
const invisible = /\p{Default_Ignorable_Code_Point}/gu
const plain = /^[\x20-\x7e\n]*$/

/** A character with the marks that follow it, in a form that does not depend on case. Source: NFKC_Casefold, Unicode 3.13. */
const foldCharacter = (text: string): string =>
  text.replace(invisible, "").normalize("NFKC").replace(invisible, "").toLowerCase().replaceAll("ς", "σ")

/** A keyword as a folded text has it. */
export const foldText = (text: string): string => {
  const speller = new FoldingSpeller()
  return speller.push(text).text + speller.waiting().text
}

/** Independent of case, of compatibility forms and of invisible characters. */
export class FoldingSpeller implements Speller {
  /** The last character, to which marks may be added. */
  #last = ""
  #at = 0
  readonly isCut = false

  push(piece: string): Spelled {
    const whole = this.#last + piece
    const from = this.#at
    if (plain.test(whole)) {
      const text = whole.slice(0, -1).toLowerCase()
      this.#last = whole.slice(-1)
      this.#at += text.length
      return { text, from, end: this.#at }
    }
    const starts: Array<number> = []
    let text = ""
    let character = ""
    for (const each of whole) {
      if (character !== "" && !continuing.test(each) && !isHalf(character)) {
        text += this.#fold(character, starts)
        character = ""
      }
      character += each
    }
    this.#last = character
    return { text, starts, from, end: this.#at }
  }

  waiting(): Spelled {
    const at = this.#at
    const last = this.#last
    if (last.length === 1 && last < "\u0080") return { text: last.toLowerCase(), from: at, end: at + 1 }
    const starts: Array<number> = []
    const text = last === "" ? "" : this.#fold(last, starts)
    this.#at = at
    return { text, starts, from: at, end: at + last.length }
  }

  #fold(character: string, starts: Array<number>): string {
    const folded = foldCharacter(character)
    for (let unit = 0; unit < folded.length; unit++) starts.push(this.#at)
    this.#at += character.length
    return folded
  }
}

/** Whether a text ends with the first half of a pair. */
const isHalf = (text: string): boolean => {
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xd800 && code <= 0xdbff
}

/** JSON whose strings are without escapes, so that no word hides in them. */
export class UnescapingSpeller implements Speller {
  #waiting = ""
  #at = 0

  push(piece: string): Spelled {
    const whole = this.#waiting + piece
    const from = this.#at
    if (!whole.includes("\\")) {
      this.#waiting = ""
      this.#at += whole.length
      return { text: whole, from, end: this.#at }
    }
    const starts: Array<number> = []
    let text = ""
    let at = 0
    while (at < whole.length) {
      const length = lengthOfUnit(whole, at)
      if (length === undefined) break
      text += length === 1 ? whole[at] : meaningOf(whole.slice(at, at + length))
      starts.push(this.#at + at)
      at += length
    }
    this.#waiting = whole.slice(at)
    this.#at += at
    return { text, starts, from, end: this.#at }
  }

  get isCut(): boolean {
    return this.#waiting !== ""
  }

  waiting(): Spelled {
    const text = this.#waiting
    return { text, from: this.#at, end: this.#at + text.length }
  }
}

/** The length of a character or an escape; undefined if it is not whole. */
const lengthOfUnit = (text: string, at: number): number | undefined => {
  if (text[at] !== "\\") return 1
  const kind = text[at + 1]
  if (kind === undefined) return undefined
  if (kind !== "u") return 2
  return at + 6 <= text.length ? 6 : undefined
}

const meanings: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" }

const meaningOf = (escaped: string): string => {
  const kind = escaped[1] ?? ""
  if (kind !== "u") return meanings[kind] ?? kind
  const code = Number.parseInt(escaped.slice(2), 16)
  return Number.isNaN(code) ? "\ufffd" : String.fromCharCode(code)
}

/** One spelling after another. */
export class SpelledTwice implements Speller {
  readonly #first: Speller
  readonly #second: Speller
  /** Offsets in the own text of the units that the second one has not spelled yet. */
  #starts: Array<number> = []
  /** The offset of the first of them in the text of the first spelling. */
  #from = 0

  constructor(first: Speller, second: Speller) {
    this.#first = first
    this.#second = second
  }

  get isCut(): boolean {
    return this.#first.isCut || this.#second.isCut
  }

  push(piece: string): Spelled {
    const once = this.#first.push(piece)
    for (const start of startsOf(once)) this.#starts.push(start)
    const twice = this.#second.push(once.text)
    const starts = startsOf(twice).map((at) => this.#starts[at - this.#from] ?? once.end)
    const end = this.#starts[twice.end - this.#from] ?? once.end
    this.#starts = this.#starts.slice(twice.end - this.#from)
    this.#from = twice.end
    return { text: twice.text, starts, from: once.from, end }
  }

  /** Characters that wait for the first spelling are not spelled twice: they belong to an escape. */
  waiting(): Spelled {
    const once = this.#first.waiting()
    const twice = this.#second.waiting()
    const own = startsOf(twice).map((at) => this.#starts[at - this.#from] ?? 0)
    return { text: twice.text + once.text, starts: [...own, ...startsOf(once)], from: once.from, end: once.end }
  }
}
