/** Paths of routes: which a pattern fits, and the segments of a path that no pattern names. Pure. */

export interface PathPattern {
  readonly segments: ReadonlyArray<string>
  /** Whether any number of segments may follow. */
  readonly isOpen: boolean
}

export const parsePattern = (path: string): PathPattern => {
  const segments = path.split("/").slice(1)
  const isOpen = segments.at(-1) === "**"
  return { segments: isOpen ? segments.slice(0, -1) : segments, isOpen }
}

/** A segment of a request's path. */
export interface PathSegment {
  /** Without percent encoding. */
  readonly text: string
  /** Whether the pattern names it, so that it is no id. */
  readonly isNamed: boolean
}

/**
 * The segments of a path that fits a pattern, in any case; undefined if it does not. Empty segments, `.`, `..`, encoded slashes
 * and parameters behind a semicolon fit nothing: the vendor might read another path, which has another price.
 */
export const matchPath = ({ segments, isOpen }: PathPattern, path: string): ReadonlyArray<PathSegment> | undefined => {
  const sent = path.split("/").slice(1).map(decoded)
  if (sent.length < segments.length || (!isOpen && sent.length > segments.length)) return undefined
  const found: Array<PathSegment> = []
  for (const [at, text] of sent.entries()) {
    if (text === undefined) return undefined
    const wanted = segments[at] ?? "*"
    if (wanted !== "*" && wanted.toLowerCase() !== text.toLowerCase()) return undefined
    found.push({ text, isNamed: wanted !== "*" })
  }
  return found
}

const decoded = (segment: string): string | undefined => {
  try {
    const text = decodeURIComponent(segment)
    return text === "" || text === "." || text === ".." || /[/\\?#;\p{Cc}]|^\s|\s$/u.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** Whether one pattern is more exact than another: the one with more names, then the one that ends. */
export const isMoreExact = (one: PathPattern, other: PathPattern): boolean => {
  const [a, b] = [namesIn(one), namesIn(other)]
  return a === b ? other.isOpen && !one.isOpen : a > b
}

const namesIn = ({ segments }: PathPattern): number => segments.filter((segment) => segment !== "*").length
