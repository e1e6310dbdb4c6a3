/**
 * The vectors of a long reply, which are not in the reply's JSON while that is read and written. A placeholder replaces each
 * of them, in the vendor's format and in the client's; the vector's text replaces it at the end.
 */
import { randomBytes } from "node:crypto"
import { isObject, type JsonObject } from "../../dialects/parse/json.ts"
import type { WrittenVector } from "../../dialects/parse/written-vector.ts"
import { EventLoopBudget } from "../../event-loop-budget.ts"
import type { Marked, StoredPart } from "../../media/marked.ts"

const numberDigits = 8
/** Bytes that are written at a time. */
const chunkBytes = 128 * 1024

const turn = new EventLoopBudget(2 * chunkBytes)

export class WrittenVectors implements Marked {
  /** The beginning of a mark; no vendor can know it. */
  #token = ""
  readonly #vectors: Array<WrittenVector> = []
  #isTold = false

  /** Whether none is in the client's reply. */
  get isEmpty(): boolean {
    return !this.#isTold
  }

  /**
   * Takes a vector out.
   * @returns its placeholder in JSON
   */
  add(vector: WrittenVector): Buffer {
    this.#vectors.push(vector)
    return Buffer.from(`${this.#markOf(this.#vectors.length - 1)}"`)
  }

  /** A vendor's reply with the vectors in their places. */
  restored(json: JsonObject): JsonObject {
    return this.#vectors.length === 0 ? json : this.#restoreFields(json)
  }

  /** The placeholder of a vector in the client's reply. */
  tell(vector: WrittenVector): string {
    this.#isTold = true
    this.#vectors.push(vector)
    return this.#markOf(this.#vectors.length - 1).slice(1)
  }

  partsOf(marked: string): ReadonlyArray<StoredPart> {
    const parts: Array<Uint8Array> = []
    let from = 0
    for (let at = marked.indexOf(this.#token); at !== -1; at = marked.indexOf(this.#token, from)) {
      const end = at + this.#token.length + numberDigits
      const vector = this.#vectors[Number(marked.slice(end - numberDigits, end))]
      if (vector === undefined) break
      parts.push(Buffer.from(marked.slice(from, at)), vector.json)
      from = end + 1
    }
    parts.push(Buffer.from(marked.slice(from)))
    const bytes = bytesOf(parts)
    return [{ bytes, heldBytes: bytes, chunks: () => chunksOf(parts) }]
  }

  #markOf(at: number): string {
    // Most replies are short, and have no placeholders.
    if (this.#token === "") this.#token = `"${randomBytes(16).toString("hex")}`
    return this.#token + String(at).padStart(numberDigits, "0")
  }

  #restoreFields(json: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, this.#restore(value)]))
  }

  #restore(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#restore(each))
    if (isObject(value)) return this.#restoreFields(value)
    if (typeof value !== "string" || !value.startsWith(this.#token.slice(1))) return value
    return this.#vectors[Number(value.slice(-numberDigits))] ?? value
  }
}

const bytesOf = (parts: ReadonlyArray<Uint8Array>): number => parts.reduce((sum, { length }) => sum + length, 0)

/** Each chunk is written in a later turn of the event loop than two before it. */
async function* chunksOf(parts: ReadonlyArray<Uint8Array>): AsyncGenerator<Uint8Array> {
  let open: Array<Uint8Array> = []
  let bytes = 0
  for (const part of parts) {
    open.push(part)
    bytes += part.length
    if (bytes < chunkBytes) continue
    const later = turn.take(bytes)
    yield Buffer.concat(open, bytes)
    open = []
    bytes = 0
    if (later !== undefined) await later
  }
  if (bytes > 0) yield Buffer.concat(open, bytes)
}
