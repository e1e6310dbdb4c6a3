/** The files of one window: its records by hour and by the hash of their organisation, under names that follow from it. */
import { hash } from "node:crypto"
import type { ExportFormat, ExportRecords } from "../protocol/export.ts"
import { textHash } from "../store/shards/text-hash.ts"
import { JsonLinesFile } from "./json-lines.ts"
import { ParquetFile } from "./parquet.ts"
import { type Row, recordsSchemas } from "./records.ts"
import type { RecordsFile } from "./records-file.ts"

export interface WindowPlan {
  readonly records: ExportRecords
  readonly format: ExportFormat
  /** Folders for organisations in an hour, by the hash of their ids. */
  readonly buckets: number
  /** The same whoever writes the window. */
  readonly name: string
}

export interface WrittenFile {
  readonly path: string
  readonly rows: number
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly sha256: string
}

/** Where files of a kind of record are. */
export const folderOf = (records: ExportRecords): string => `${records}/v${recordsSchemas[records].version}`

export class WindowFiles {
  readonly #plan: WindowPlan
  readonly #files = new Map<string, RecordsFile>()
  readonly #at: number
  readonly #org: number

  constructor(plan: WindowPlan) {
    const { columns } = recordsSchemas[plan.records]
    this.#plan = plan
    this.#at = columns.findIndex(({ name }) => name === "at")
    this.#org = columns.findIndex(({ name }) => name === "org_id")
  }

  add(rows: ReadonlyArray<Row>): void {
    for (const row of rows) this.#fileOf(String(row[this.#at]), String(row[this.#org] ?? "")).add(row)
  }

  /** One after the other, in the order of their paths; a file's memory is free when the next is asked for. */
  *finish(): Generator<WrittenFile> {
    for (const path of [...this.#files.keys()].sort()) {
      const file = this.#files.get(path)
      if (file === undefined) continue
      const bytes = Uint8Array.from(file.finish())
      this.#files.delete(path)
      yield { path, rows: file.rows, bytes, sha256: hash("sha256", bytes) }
    }
  }

  #fileOf(at: string, org: string): RecordsFile {
    const { records, format, buckets, name } = this.#plan
    const bucket = (textHash(org) >>> 0) % buckets
    const path = `${folderOf(records)}/date=${at.slice(0, 10)}/hour=${at.slice(11, 13)}/org=${String(bucket).padStart(3, "0")}/${name}.${format}`
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const { columns } = recordsSchemas[records]
    const made = format === "parquet" ? new ParquetFile(columns) : new JsonLinesFile(columns)
    this.#files.set(path, made)
    return made
  }
}
