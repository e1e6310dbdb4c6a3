/** The spellings of a text that a vendor may read as another text. Pure. */
import querystring from "node:querystring"

/** The most encodings of a text, one within the other. */
const mostEncodings = 3

/** The most encoded characters of a text. */
const mostEncoded = 20_000

/**
 * A text, and the same without its encodings, one after the other: percent encoding, escapes of JSON, characters of XML by
 * their number, and the zeros of UTF-16. Malformed encodings stay as they are, as lenient readers leave them. Only ASCII is
 * decoded: ids have no other characters. Undefined if too much of the text is encoded.
 */
export const spellingsOf = (text: string): ReadonlyArray<string> | undefined => {
  const found = [text]
  for (let last = text; found.length <= mostEncodings; ) {
    const next = decoded(last)
    if (next === undefined) return undefined
    if (next === last) break
    found.push(next)
    last = next
  }
  return found
}

const decoded = (text: string): string | undefined => {
  const plain = text.includes("\0") ? text.replaceAll("\0", "") : text
  const slashes = plain.includes("\\/") ? plain.replaceAll("\\/", "/") : plain
  const unescaped = slashes.includes("\\u00") ? replaced(slashes, /\\u00([2-7][\da-f])/gi) : slashes
  const found =
    unescaped?.includes("&#") === true
      ? replaced(unescaped, /&#(?:x0{0,4}([2-7][\da-f])|0{0,4}(\d{2,3}));?/gi)
      : unescaped
  return found?.includes("%") === true ? querystring.unescape(found) : found
}

/** @param encoded a pattern with the hexadecimal, or the decimal number of a character */
const replaced = (text: string, encoded: RegExp): string | undefined => {
  let count = 0
  for (const _ of text.matchAll(encoded)) if (++count > mostEncoded) return undefined
  return text.replaceAll(encoded, (_, hex: string | undefined, decimal: unknown) =>
    String.fromCharCode(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
  )
}
