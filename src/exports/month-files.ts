/** The files of a month that is being closed: its transfers, in parts. */
import { Effect } from "effect"
import { type Target, TargetFailed } from "../object-storage/target.ts"
import type { ExportFormat } from "../protocol/control/export.ts"
import type { Shard } from "../store/shards/shard.ts"
import { EncoderFailed, makeEncoder } from "./encoder.ts"
import { type PutFile, putFiles } from "./put-files.ts"
import type { WindowPlan } from "./window-files.ts"
import { readMonth } from "./window-rows.ts"

/** Transfers of a part. */
const partRows = 500_000

/** If the shard moves in the meantime, everything is written again. */
export const writeMonth = Effect.fnUntraced(function* (
  shard: Shard,
  until: Date,
  { folder, format }: { readonly folder: string; readonly format: ExportFormat },
  target: Target,
) {
  const plan: WindowPlan = { records: "transfers", format, buckets: 1, folder, name: shard.name }
  const written = yield* shard.run((client) =>
    Effect.gen(function* () {
      const encoder = yield* makeEncoder(plan)
      const parts: Array<PutFile> = []
      let pending = 0
      const put = Effect.gen(function* () {
        parts.push(...(yield* putFiles(encoder, target)))
        pending = 0
      })
      yield* readMonth(client, until, (rows) => {
        pending += rows.length
        return pending < partRows ? encoder.add(rows) : Effect.andThen(encoder.add(rows), put)
      })
      yield* put
      return parts
    }).pipe(
      Effect.scoped,
      Effect.catchTags({
        EncoderFailed: (failure) => Effect.succeed(failure),
        TargetFailed: (failure) => Effect.succeed(failure),
      }),
    ),
  )
  return written instanceof EncoderFailed || written instanceof TargetFailed ? yield* written : written
})
