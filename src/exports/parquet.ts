/** Records as Apache Parquet: DECIMAL(38,10), TIMESTAMP in microseconds, JSON. Source: https://parquet.apache.org/docs/file-format */
import { zstdCompressSync } from "node:zlib"
import { ByteWriter, ParquetWriter } from "hyparquet-writer"
import { type Column, microsOf, type Row, unscaled, type Value } from "./records.ts"
import type { RecordsFile } from "./records-file.ts"

type Element = ParquetWriter["schema"][number]
type Primitive = string | bigint | null

/** Rows that are encoded at once: until then they are kept as values. */
const groupRows = 5000

export class ParquetFile implements RecordsFile {
  readonly #columns: ReadonlyArray<Column>
  readonly #bytes = new ByteWriter()
  readonly #writer: ParquetWriter
  #values: ReadonlyArray<Array<Primitive>>
  #pending = 0
  rows = 0

  constructor(columns: ReadonlyArray<Column>) {
    this.#columns = columns
    this.#values = columns.map(() => [])
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: [{ name: "records", num_children: columns.length }, ...columns.map(elementOf)],
      codec: "ZSTD",
      compressors: { ZSTD: (input) => zstdCompressSync(input) },
      createdBy: "weir",
    })
  }

  add(row: Row): void {
    this.#columns.forEach(({ type }, at) => {
      this.#values[at]?.push(primitiveOf(type, row[at] ?? null))
    })
    this.rows += 1
    this.#pending += 1
    if (this.#pending === groupRows) this.#encode()
  }

  finish(): Uint8Array {
    this.#encode()
    this.#writer.finish()
    return this.#bytes.getBytes()
  }

  #encode(): void {
    if (this.#pending === 0) return
    this.#writer.write({
      columnData: this.#columns.map(({ name }, at) => ({ name, data: this.#values[at] ?? [] })),
      rowGroupSize: this.#pending,
    })
    this.#values = this.#columns.map(() => [])
    this.#pending = 0
  }
}

const elementOf = ({ name, type }: Column): Element => {
  const column = { name, repetition_type: "OPTIONAL" } as const
  switch (type) {
    case "text":
    case "hex":
      return { ...column, type: "BYTE_ARRAY", converted_type: "UTF8" }
    case "json":
      return { ...column, type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "JSON" } }
    case "integer":
      return { ...column, type: "INT64" }
    case "time":
      return {
        ...column,
        type: "INT64",
        converted_type: "TIMESTAMP_MICROS",
        logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
      }
    case "decimal":
      return {
        ...column,
        type: "FIXED_LEN_BYTE_ARRAY",
        type_length: 16,
        converted_type: "DECIMAL",
        precision: 38,
        scale: 10,
      }
  }
}

const primitiveOf = (type: Column["type"], value: Value): Primitive => {
  if (value === null) return null
  switch (type) {
    case "integer":
      return BigInt(value)
    case "decimal":
      return unscaled(String(value))
    case "time":
      return microsOf(String(value))
    default:
      return String(value)
  }
}
