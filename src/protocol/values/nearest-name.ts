/** The name that was probably meant by one that is unknown. */

/**
 * The greatest distance between a name and the known one that was meant: a letter or two, missing, added, changed or swapped;
 * for a long name a quarter of it, because a missing `_MS` is three.
 */
const mostApart = (name: string): number => Math.max(2, Math.floor(name.length / 4))

/** Maximum length of a name that is compared: the work grows with its square. */
const longest = 64

/** The known name at the smallest edit distance, of less than half the name; undefined if there is none. */
export const nearestName = (name: string, known: Iterable<string>): string | undefined => {
  if (name.length > longest) return undefined
  let best: string | undefined
  let bestApart = Math.min(mostApart(name), Math.ceil(name.length / 2) - 1) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= bestApart) continue
    const apart = distance(name, candidate)
    if (apart < bestApart) [best, bestApart] = [candidate, apart]
  }
  return best
}

/** A part of a message: empty if no known name is near. */
export const didYouMean = (name: string, known: Iterable<string>): string => {
  const meant = nearestName(name, known)
  return meant === undefined ? "" : `; did you mean ${meant}?`
}

/** Levenshtein distance with transpositions counted once (Damerau). */
const distance = (a: string, b: string): number => {
  const rows = Array.from({ length: a.length + 1 }, (_, at) => [at])
  for (let j = 1; j <= b.length; j++) rows[0]?.push(j)
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const changed = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY
      rows[i]?.push(Math.min(changed, at(i - 1, j) + 1, at(i, j - 1) + 1, swapped))
    }
  }
  return at(a.length, b.length)
}
