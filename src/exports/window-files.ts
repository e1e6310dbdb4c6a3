/** The files of one window: its records by hour and by the hash of their organisation, under names that follow from it. */
import { hash } from "node:crypto"
import type { ExportFormat, ExportRecords } from "../protocol/control/export.ts"
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
  /** The name of the file. It is the same on each node that writes the window. */
  readonly name: string
  /** The folder of all files, numbered in their order; without it, files are by hour and organisation. */
  readonly folder?: string
}

export interface WrittenFile {
  readonly path: string
  readonly rows: number
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly sha256: string
}

/** The folder of the files of a kind of record. */
export const folderOf = (records: ExportRecords): string => `${records}/v${recordsSchemas[records].version}`

export class WindowFiles {
  readonly #plan: WindowPlan
  readonly #files = new Map<string, RecordsFile>()
  readonly #at: number
  readonly #org: number
  #part = 0

  constructor(plan: WindowPlan) {
    const { columns } = recordsSchemas[plan.records]
    this.#plan = plan
    this.#at = columns.findIndex(({ name }) => name === "at")
    this.#org = columns.findIndex(({ name }) => name === "org_id")
  }

  add(rows: ReadonlyArray<Row>): void {
    for (const row of rows) this.#fileOf(String(row[this.#at]), String(row[this.#org] ?? "")).add(row)
  }

  /** One after the other, in the order of their paths; a file's memory is free when the next is asked for. Others may follow. */
  *finish(): Generator<WrittenFile> {
    this.#part += 1
    for (const path of [...this.#files.keys()].sort()) {
      const file = this.#files.get(path)
      if (file === undefined) continue
      const bytes = Uint8Array.from(file.finish())
      this.#files.delete(path)
      yield { path, rows: file.rows, bytes, sha256: hash("sha256", bytes) }
    }
  }

  #folderOf(at: string, org: string): string {
    const { records, buckets } = this.#plan
    const bucket = String((textHash(org) >>> 0) % buckets).padStart(3, "0")
    return `${folderOf(records)}/date=${at.slice(0, 10)}/hour=${at.slice(11, 13)}/org=${bucket}`
  }

  #fileOf(at: string, org: string): RecordsFile {
    const { records, format, name, folder } = this.#plan
    const part = String(this.#part).padStart(5, "0")
    const path =
      folder === undefined ? `${this.#folderOf(at, org)}/${name}.${format}` : `${folder}/${name}-${part}.${format}`
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const { columns } = recordsSchemas[records]
    const made = format === "parquet" ? new ParquetFile(columns) : new JsonLinesFile(columns)
    this.#files.set(path, made)
    return made
  }
}
