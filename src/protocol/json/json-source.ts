/**
 * The texts of values in JSON: `JSON.parse` returns only values, this file also the bytes of each value. The text is valid
 * JSON. Each object and each list on the way to a value is scanned once, for any number of values.
 */
import type { JsonPath } from "./json-edit.ts"
import { JsonScanner } from "./json-scanner.ts"

interface Place {
  readonly begin: number
  readonly end: number
  /** The positions of its parts, known after the first request. */
  below?: ReadonlyMap<string, Place>
}

export class JsonSource {
  readonly #json: string | Uint8Array
  /** The scan is made when a text is asked for: most replies have none of interest. */
  #scanner: JsonScanner | undefined
  #root: Place | undefined

  constructor(json: string | Uint8Array) {
    this.#json = json
  }

  /** The text of a value; undefined if there is none at this place. */
  textAt(path: JsonPath): string | undefined {
    this.#scanner ??= new JsonScanner(typeof this.#json === "string" ? Buffer.from(this.#json) : this.#json)
    this.#root ??= { begin: 0, end: this.#scanner.text.length }
    let at: Place | undefined = this.#root
    for (const name of path) {
      if (at === undefined) return undefined
      at.below ??= placesIn(this.#scanner, at.begin)
      at = at.below.get(String(name))
    }
    return at && this.#scanner.text.toString("utf8", at.begin, at.end)
  }
}

/** The members of the object, or the elements of the list, that begins at a place. */
const placesIn = (scanner: JsonScanner, begin: number): ReadonlyMap<string, Place> =>
  // The last of several members of a name counts, as for JSON.parse.
  new Map(scanner.partsIn(scanner.afterSpace(begin)).map(({ name, value, end }) => [name, { begin: value, end }]))
