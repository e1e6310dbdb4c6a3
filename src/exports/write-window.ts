/** Writes the files of a window, and then its manifest, which lists them. */
import { Effect } from "effect"
import type { Target } from "../object-storage/target.ts"
import type { Shard } from "../store/shards/shard.ts"
import { EncoderFailed, makeEncoder } from "./encoder.ts"
import type { Landed, OpenWindow, PositionName } from "./export-store.ts"
import { putFiles, rowsOf } from "./put-files.ts"
import { recordsSchemas } from "./records.ts"
import { folderOf, type WindowPlan } from "./window-files.ts"
import { readWindow } from "./window-rows.ts"

export const writeWindow = Effect.fnUntraced(function* (
  { export: id, records, shard: shardName }: PositionName,
  window: OpenWindow,
  shard: Shard,
  target: Target,
  buckets: number,
) {
  const { format, from_place, until_place } = window
  const name = `${shardName}-${window.name}`
  const plan = { records, format, buckets, name }
  const written = yield* Effect.scoped(
    Effect.flatMap(readInto(shard, records, window, plan), (encoder) => putFiles(encoder, target)),
  )
  if (written.length === 0) return { files: 0, rows: 0 } satisfies Landed
  const rows = rowsOf(written)
  const manifest = {
    export: id,
    records,
    version: recordsSchemas[records].version,
    format,
    shard: shardName,
    window: window.name,
    fromPlace: String(from_place),
    untilPlace: String(until_place),
    from: window.from_at.toISOString(),
    until: window.until_at.toISOString(),
    rows,
    files: written,
  }
  const day = window.until_at.toISOString().slice(0, 10)
  const path = `${folderOf(records)}/manifests/date=${day}/${name}.json`
  yield* target.put(path, Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`))
  return { files: written.length, rows } satisfies Landed
})

/** If the shard moves meanwhile, it is read again, into another encoder. */
const readInto = Effect.fnUntraced(function* (
  shard: Shard,
  records: PositionName["records"],
  window: OpenWindow,
  plan: WindowPlan,
) {
  const read = yield* shard.run((client) =>
    Effect.gen(function* () {
      const encoder = yield* makeEncoder(plan)
      yield* readWindow(client, records, window, encoder.add)
      return encoder
    }).pipe(Effect.catchTag("EncoderFailed", (failure) => Effect.succeed(failure))),
  )
  return read instanceof EncoderFailed ? yield* read : read
})
