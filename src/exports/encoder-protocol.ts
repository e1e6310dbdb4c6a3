/** Messages between an export and the thread that encodes its files: each is answered by one. */
// Not all of Effect: each thread would load it.
import * as Predicate from "effect/Predicate"
import type { Row } from "./records.ts"
import type { WindowPlan, WrittenFile } from "./window-files.ts"

/** The thread is started with the plan of its window. */
export const isWindowPlan = (data: unknown): data is WindowPlan =>
  Predicate.hasProperty(data, "records") && Predicate.hasProperty(data, "buckets")

/** Rows to add; without any, the next file is asked for. */
export type ToEncoder = { readonly rows: ReadonlyArray<Row> } | { readonly next: true }

export const isToEncoder = (message: unknown): message is ToEncoder =>
  Predicate.hasProperty(message, "rows") || Predicate.hasProperty(message, "next")

/** Without a file: the rows were added, or there is no further file. */
export interface FromEncoder {
  readonly file?: WrittenFile
}

export const isFromEncoder = (message: unknown): message is FromEncoder => Predicate.isObject(message)
