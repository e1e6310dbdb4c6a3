/**
 * Seals again with the current master key the data that the previous one sealed, for as long as the gateway has both. Any
 * number of nodes may do so; nodes that have only the previous key may still write.
 */
import { Effect, type Scope } from "effect"
import { runEvery } from "../background.ts"
import { WeirConfig } from "../config.ts"
import { Sealing } from "./seal.ts"
import type { StoreUnavailable } from "./unavailable.ts"

export interface SealedRows<Row> {
  /** Rows after another one in the order of their keys, the first rows if it is undefined; at most so many. */
  readonly read: (after: Row | undefined, most: number) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
  readonly sealedOf: (row: Row) => { readonly sealed: string; readonly context: string }
  /** Replaces the sealed text of a row, unless it has changed in the meantime. */
  readonly write: (row: Row, sealed: string) => Effect.Effect<unknown, StoreUnavailable>
}

/** @param what the job, as a log line names it */
export const keepSealing = Effect.fnUntraced(function* <Row>(
  what: string,
  { read, sealedOf, write }: SealedRows<Row>,
): Effect.fn.Return<void, never, Sealing | WeirConfig | Scope.Scope> {
  const { sealer, isDurable } = yield* Sealing
  const { masterKeyPrevious } = yield* WeirConfig
  if (!isDurable || masterKeyPrevious === undefined) return

  const sealAll = Effect.gen(function* () {
    let after: Row | undefined
    while (true) {
      const rows: ReadonlyArray<Row> = yield* read(after, pageRows)
      for (const row of rows) {
        const { sealed, context } = sealedOf(row)
        const opened = sealer.isCurrent(sealed) ? undefined : sealer.open(sealed, context)
        if (opened !== undefined) yield* write(row, sealer.seal(opened, context))
      }
      if (rows.length < pageRows) return
      after = rows.at(-1)
    }
  })
  yield* runEvery(every, what, sealAll)
})

/** Rows that a statement reads. */
const pageRows = 500
const every = "5 seconds"
