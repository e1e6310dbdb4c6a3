/** The strings and numbers of JSON, as they are written and as a reader has them. Pure. */

export interface JsonLiteral {
  /** Without quotation marks. */
  readonly written: string
  /** A string without escapes; a number without an exponent. */
  readonly text: string
  /** Its place, with quotation marks. */
  readonly start: number
  readonly end: number
  /** Whether it is the name of a member. */
  readonly isName: boolean
}

const literal = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"(\s*:)?|-?\d[\d.eE+-]*/g

/** JSON that is not valid has those that can be read. */
export function* jsonLiterals(json: string): Generator<JsonLiteral> {
  for (const { 0: matched, 1: colon = "", index: start } of json.matchAll(literal)) {
    const found = matched.slice(0, matched.length - colon.length)
    const written = found.startsWith(`"`) ? found.slice(1, -1) : found
    yield { written, text: readerText(found, written), start, end: start + found.length, isName: colon !== "" }
  }
}

/**
 * JSON with other values; those that stay are written as before.
 * @param map of each string and number, but not of names of members; another text becomes a string
 */
export const mapJsonValues = (
  json: string,
  map: (text: string, place: Pick<JsonLiteral, "start" | "end">) => string,
): string => {
  let made = ""
  let from = 0
  for (const each of jsonLiterals(json)) {
    if (each.isName) continue
    const text = map(each.text, each)
    if (text === each.text) continue
    made += json.slice(from, each.start) + JSON.stringify(text)
    from = each.end
  }
  return made + json.slice(from)
}

/** Whether a text is JSON of more than a number or a word. */
export const isJsonWithin = (text: string): boolean => {
  if (!/^\s*[{["]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A string that is written with the escapes of JSON. */
export const withoutEscapes = (written: string): string =>
  written.includes("\\") ? (stringOf(`"${written}"`) ?? written) : written

const readerText = (found: string, written: string): string => {
  if (found.startsWith(`"`)) return withoutEscapes(written)
  return /[eE]/.test(found) && Number.isFinite(Number(found)) ? String(Number(found)) : written
}

const stringOf = (json: string): string | undefined => {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === "string" ? value : undefined
  } catch {
    return undefined
  }
}
