/** A file that is being filled with records, in memory. */
import type { Row } from "./records.ts"

export interface RecordsFile {
  readonly rows: number
  readonly add: (row: Row) => void
  /** The whole file; nothing is added afterwards. */
  readonly finish: () => Uint8Array
}
