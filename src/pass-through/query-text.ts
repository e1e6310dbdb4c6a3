/** The names and values of a query, as a vendor may read them. Pure. */

/** Each spelling: `+` is a space or itself, and percent encoding is kept, or decoded once or twice. */
export const textOfQuery = (query: string): ReadonlyArray<string> =>
  query
    .split(/[&;]/)
    .flatMap((pair) => pair.split("="))
    .flatMap((text) => {
      const once = decoded(text)
      return [text, once, decoded(once), decoded(text.replaceAll("+", " "))]
    })
    .filter((text) => text !== "")

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
