/**
 * The master keys that nodes have sealed with, by their names in the database: a node that starts without one of them warns that what
 * it sealed cannot be opened.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { runEvery } from "../background.ts"
import { queryDeadline } from "./database.ts"
import { Sealing } from "./seal.ts"

/** The longest time for which organisations keep responses. */
const keptDays = 400

export const layerMasterKeys = Layer.effectDiscard(
  Effect.gen(function* () {
    const { sealer, isDurable } = yield* Sealing
    const sql = yield* SqlClient.SqlClient
    const bounded = yield* queryDeadline
    const [current] = sealer.keyIds
    // A key of this process alone seals nothing that others would open.
    if (!isDurable || current === undefined) return

    const missing = bounded(
      sql`
        select id, first_used_at, last_used_at from master_keys
        where id <> all(${sealer.keyIds}::text[]) and last_used_at > now() - ${keptDays}::integer * interval '1 day'
        order by last_used_at desc limit 20`,
    )
    const warn = Effect.flatMap(missing, (rows) =>
      Effect.forEach(
        readKeys(rows),
        ({ id, first_used_at: first, last_used_at: last }) =>
          Effect.logWarning(
            "Content that was sealed with an earlier master key cannot be opened: add the key to SVC_MASTER_KEY_PREVIOUS, as a line",
            { key: id, usedFrom: first.toISOString(), usedUntil: last.toISOString() },
          ),
        { discard: true },
      ),
    )
    const note = bounded(
      sql`
        insert into master_keys (id) values (${current})
        on conflict (id) do update set last_used_at = now() where master_keys.last_used_at < now() - interval '10 minutes'`,
    )
    yield* Effect.ignore(warn)
    yield* runEvery("1 hour", "Noting the master key", note)
  }),
)

const readKeys = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ id: Schema.String, first_used_at: Schema.Date, last_used_at: Schema.Date })),
)
