/** The strings and numbers of JSON, as they are written and as a reader has them. Pure. */

export interface JsonLiteral {
  /** Without quotation marks. */
  readonly written: string
  /** A string without escapes; a number without an exponent. */
  readonly text: string
}

const literal = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Names of members are strings too. JSON that is not valid has those that can be read. */
export function* jsonLiterals(json: string): Generator<JsonLiteral> {
  for (const [found] of json.matchAll(literal)) {
    const written = found.startsWith(`"`) ? found.slice(1, -1) : found
    yield { written, text: readerText(found, written) }
  }
}

const readerText = (found: string, written: string): string => {
  if (found.startsWith(`"`)) return written.includes("\\") ? (stringOf(found) ?? written) : written
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
