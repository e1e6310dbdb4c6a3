/** Parts of the header `x-svc-warning`: a name and its list, e.g. `tools_omitted=web_search`. */

/** The maximum number of names in a header. */
const mostListed = 16
const longestListed = 64

/**
 * The part; none if the list is empty.
 * @param values text that a client chooses
 */
export const warningHeader = (name: string, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.length === 0 ? [] : [`${name}=${[...new Set(values)].slice(0, mostListed).map(listed).join(",")}`]

const listed = (value: string): string => encodeURIComponent(value.slice(0, longestListed).toWellFormed())
