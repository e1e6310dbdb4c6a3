/** Marks in JSON that replace numbers: they are texts then. Pure. */

/** A mark with the rest of a number, outside of a text. */
const bareMark = /[^\s,:{}[\]]*<[A-Z]+_[A-Z2-7]+>[^\s,:{}[\]]*/g

/** JSON in which each mark is in a text: those outside of one become texts. */
export const quoteMarks = (json: string): string => {
  let made = ""
  let at = 0
  while (at < json.length) {
    const quote = json.indexOf(`"`, at)
    made += json.slice(at, quote === -1 ? json.length : quote).replace(bareMark, `"$&"`)
    if (quote === -1) break
    at = endOfText(json, quote)
    made += json.slice(quote, at)
  }
  return made
}

/** @param quote the place of its first quotation mark */
const endOfText = (json: string, quote: number): number => {
  let end = json.indexOf(`"`, quote + 1)
  while (end !== -1 && isEscaped(json, end)) end = json.indexOf(`"`, end + 1)
  return end === -1 ? json.length : end + 1
}

const isEscaped = (json: string, at: number): boolean => {
  let slashes = 0
  while (json[at - 1 - slashes] === "\\") slashes++
  return slashes % 2 === 1
}
