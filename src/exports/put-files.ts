/** Writes the files of an encoder, one after the other, and returns the facts about each for the manifest. */
import { Effect } from "effect"
import type { Target } from "../object-storage/target.ts"
import type { Encoder } from "./encoder.ts"

/** A file as manifests list it. */
export interface PutFile {
  readonly path: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
}

export const putFiles = Effect.fnUntraced(function* (encoder: Encoder, target: Target) {
  const files: Array<PutFile> = []
  for (let file = yield* encoder.next; file !== undefined; file = yield* encoder.next) {
    const { bytes, ...listed } = file
    yield* target.put(listed.path, bytes)
    files.push({ ...listed, bytes: bytes.length })
  }
  return files
})

/** Rows of files together. */
export const rowsOf = (files: ReadonlyArray<PutFile>): number => files.reduce((sum, { rows }) => sum + rows, 0)
