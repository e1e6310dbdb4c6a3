/** The names and values of a query, or of a form that is written like one, as a vendor may read them. Pure. */

/** Their percent encoding is kept; `+` is a space or itself. */
export const textOfQuery = (query: string): ReadonlyArray<string> =>
  query
    .split(/[&;]/)
    .flatMap((pair) => pair.split("="))
    .flatMap((text) => (text.includes("+") ? [text, text.replaceAll("+", " ")] : [text]))
    .filter((text) => text !== "")
