/**
 * The texts of values in JSON: where `JSON.parse` gives values alone, this gives the bytes that they came as. The text is
 * valid JSON. Each object and each list on the way to a value is scanned once, however many values are asked for.
 */
import type { JsonPath } from "./json-edit.ts"
import { JsonScanner, openBrace, openBracket } from "./json-scanner.ts"

interface Place {
  readonly begin: number
  readonly end: number
  /** Known once it has been asked for. */
  below?: ReadonlyMap<string, Place>
}

export class JsonSource {
  readonly #scanner: JsonScanner
  readonly #root: Place

  constructor(json: string | Uint8Array) {
    const bytes = typeof json === "string" ? Buffer.from(json) : json
    this.#scanner = new JsonScanner(bytes)
    this.#root = { begin: 0, end: bytes.length }
  }

  /** The text of a value; undefined if there is none at this place. */
  textAt(path: JsonPath): string | undefined {
    let at: Place | undefined = this.#root
    for (const name of path) at = at && this.#belowOf(at).get(String(name))
    return at && this.#scanner.text.toString("utf8", at.begin, at.end)
  }

  #belowOf(place: Place): ReadonlyMap<string, Place> {
    place.below ??= this.#scan(place.begin)
    return place.below
  }

  /** The members of the object, or the elements of the list, that begins here. */
  #scan(begin: number): ReadonlyMap<string, Place> {
    const at = this.#scanner.afterSpace(begin)
    const first = this.#scanner.text[at]
    const parts =
      first === openBrace ? this.#scanner.membersIn(at) : first === openBracket ? this.#scanner.elementsIn(at) : []
    // The last of several members of a name counts, as for JSON.parse.
    return new Map(parts.map(({ name, value, end }) => [name, { begin: value, end }]))
  }
}
