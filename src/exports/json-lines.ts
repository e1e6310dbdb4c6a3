/** Records as lines of JSON, compressed with Zstandard: money as decimal strings, times in ISO 8601. */
import { zstdCompressSync } from "node:zlib"
import { type Column, isoOf, type Row, type Value } from "./records.ts"
import type { RecordsFile } from "./records-file.ts"

/** Bytes that are compressed at once. */
const frameBytes = 256 * 1024

export class JsonLinesFile implements RecordsFile {
  readonly #columns: ReadonlyArray<Column>
  readonly #frames: Array<Uint8Array> = []
  #text = ""
  rows = 0

  constructor(columns: ReadonlyArray<Column>) {
    this.#columns = columns
  }

  add(row: Row): void {
    this.#text += `${lineOf(this.#columns, row)}\n`
    this.rows += 1
    if (this.#text.length >= frameBytes) this.#compress()
  }

  finish(): Uint8Array {
    this.#compress()
    return Buffer.concat(this.#frames)
  }

  /** Frames after one another are one file. Source: RFC 8878, section 3 */
  #compress(): void {
    if (this.#text !== "") this.#frames.push(zstdCompressSync(this.#text))
    this.#text = ""
  }
}

const lineOf = (columns: ReadonlyArray<Column>, row: Row): string => {
  const fields: Array<string> = []
  columns.forEach(({ name, type }, at) => {
    const value = row[at] ?? null
    if (value !== null) fields.push(`"${name}":${jsonOf(type, value)}`)
  })
  return `{${fields.join(",")}}`
}

const jsonOf = (type: Column["type"], value: NonNullable<Value>): string => {
  if (type === "json" || type === "integer") return String(value)
  return JSON.stringify(type === "time" ? isoOf(String(value)) : value)
}
