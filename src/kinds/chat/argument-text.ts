/** The text in the arguments of a function that replaces a tool of texts, as the arguments arrive. */
import { field, textOfArguments } from "./offer.ts"

/** The arguments before the text. */
const head = new RegExp(String.raw`^\s*\{\s*"${field}"\s*:\s*"`)
/** Arguments without a text up to this length are of another form, which is read when they are whole. */
const longestHead = 64

export class ArgumentText {
  #state: "head" | "text" | "other" | "end" = "head"
  /** Arguments that are not forwarded: the head, all of another form, or the beginning of an escape. */
  #held = ""

  /** @returns the text in these arguments */
  push(args: string): string {
    this.#held += args
    if (this.#state === "head") {
      const [found] = head.exec(this.#held.slice(0, longestHead)) ?? []
      if (found === undefined) {
        if (this.#held.length >= longestHead) this.#state = "other"
        return ""
      }
      this.#held = this.#held.slice(found.length)
      this.#state = "text"
    }
    return this.#state === "text" ? this.#takeText() : ""
  }

  /** @returns the rest of the text */
  end(): string {
    const held = this.#held
    this.#held = ""
    return this.#state === "head" || this.#state === "other" ? textOfArguments(held) : ""
  }

  #takeText(): string {
    const json = this.#held
    this.#held = ""
    const special = /["\\]/g
    let text = ""
    let at = 0
    for (;;) {
      const found = special.exec(json)?.index
      text += json.slice(at, found)
      if (found === undefined) return text
      if (json[found] === `"`) {
        this.#state = "end"
        return text
      }
      at = found + (json[found + 1] === "u" ? 6 : 2)
      if (at > json.length) {
        this.#held = json.slice(found)
        return text
      }
      text += unescaped(json.slice(found, at))
      special.lastIndex = at
    }
  }
}

/** A model may write an invalid escape; it is then kept unchanged. */
const unescaped = (written: string): string => {
  try {
    return String(JSON.parse(`"${written}"`))
  } catch {
    return written
  }
}
