/** The texts of many values in JSON whose paths are known before, found in one scan. The JSON is valid. */
import type { JsonPath } from "./json-edit.ts"
import { JsonScanner } from "./json-scanner.ts"

/** The texts of the values at some paths; undefined where there is none. */
export const textsAt = (json: Uint8Array, paths: ReadonlyArray<JsonPath>): ReadonlyArray<string | undefined> => {
  const root: Wanted = { below: new Map() }
  paths.forEach((path, index) => {
    placeOf(root, path).index = index
  })
  const found: Array<string | undefined> = paths.map(() => undefined)
  const scanner = new JsonScanner(json)
  find(scanner, scanner.afterSpace(0), root, found)
  return found
}

/** The texts that are wanted of a value and of the values in it. */
interface Wanted {
  /** Present if its own text is. */
  index?: number
  readonly below: Map<string, Wanted>
}

const placeOf = (root: Wanted, path: JsonPath): Wanted => {
  let at = root
  for (const name of path) {
    const next: Wanted = at.below.get(String(name)) ?? { below: new Map() }
    at.below.set(String(name), next)
    at = next
  }
  return at
}

/** Goes over the value that begins at a place. @returns its end */
const find = (
  scanner: JsonScanner,
  begin: number,
  { index, below }: Wanted,
  found: Array<string | undefined>,
): number => {
  const end =
    below.size > 0 && scanner.isContainer(begin)
      ? scanner.each(begin, (name, value) => {
          const wanted = below.get(name)
          return wanted === undefined ? scanner.endOf(value) : find(scanner, value, wanted, found)
        })
      : scanner.endOf(begin)
  if (index !== undefined) found[index] = scanner.text.toString("utf8", begin, end)
  return end
}
