/** The records of objects in the database: each is made before its object is stored, and is there until that is removed. */
import { Context, Effect, Layer, Schema } from "effect"
import { LongQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import { inThoseThatAnswer, Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** An object, and the organisation that has it. */
export interface NamedObject {
  readonly orgId: string
  readonly id: string
}

/** The time after which an object that no row names is given up, in milliseconds. */
const storingMs = 3_600_000
const mostRemoved = 100

export class ObjectRecords extends Context.Service<
  ObjectRecords,
  {
    /** An object is about to be stored. */
    readonly begin: (object: NamedObject) => Effect.Effect<void, StoreUnavailable>
    /** No row names these objects, nor will. */
    readonly erase: (orgId: string, ids: ReadonlyArray<string>) => Effect.Effect<void, StoreUnavailable>
    /** Objects that are to be removed. */
    readonly toRemove: Effect.Effect<ReadonlyArray<NamedObject>, StoreUnavailable>
    /** An object is removed. */
    readonly gone: (object: NamedObject) => Effect.Effect<void, StoreUnavailable>
  }
>()("weir/kept-responses/ObjectRecords") {
  static readonly layer = Layer.effect(
    ObjectRecords,
    Effect.gen(function* () {
      const shards = yield* Shards
      const long = yield* LongQueries
      const bounded = yield* queryDeadline
      return ObjectRecords.of({
        begin: ({ orgId, id }) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => sql`select ${books}object_begin(${orgId}, ${id})`)
            .pipe(Effect.asVoid, bounded),
        erase: (orgId, ids) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => sql`select ${books}objects_erase(${orgId}, ${ids}::text[])`)
            .pipe(Effect.asVoid, bounded),
        toRemove: inThoseThatAnswer(
          long.shards,
          ({ sql, books }) => sql`
            select org, object from ${books}objects_to_remove(${mostRemoved}::integer, ${storingMs}::double precision)`,
        ).pipe(
          Effect.map((rows) => readRemoved(rows).map(({ org, object }) => ({ orgId: org, id: object }))),
          bounded,
        ),
        gone: ({ orgId, id }) =>
          long.shards
            .of(orgId)
            .run(({ sql, books }) => sql`select ${books}object_gone(${orgId}, ${id})`)
            .pipe(Effect.asVoid, bounded),
      })
    }),
  )
}

const readRemoved = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ org: Schema.String, object: Schema.String })))
