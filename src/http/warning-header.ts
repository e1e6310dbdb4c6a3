/** Parts of the header `x-svc-warning`: a name and what it lists, e.g. `tools_omitted=web_search`. */

/** A header has room for so many. */
const mostListed = 16
const longestListed = 64

/** None if the list is empty. @param values of a client's choice: any text */
export const warningHeader = (name: string, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.length === 0 ? [] : [`${name}=${[...new Set(values)].slice(0, mostListed).map(listed).join(",")}`]

const listed = (value: string): string => encodeURIComponent(value.slice(0, longestListed).toWellFormed())
