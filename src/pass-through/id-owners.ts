/**
 * The owners of ids that vendors gave through routes: tenants share one account of a vendor, and see only what is theirs. An id
 * is recorded before its reply is sent; one that could not be recorded belongs to nobody, and nobody can name it.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** The subject that owns an id; an absent part is empty. */
export interface IdOwner {
  readonly org: string
  readonly app: string
  readonly person: string
  readonly endUser: string
}

/** The owners of ids: the caller, or others. */
export interface OwnedIds {
  readonly own: ReadonlySet<string>
  readonly others: ReadonlySet<string>
}

const Rows = Schema.Array(Schema.Struct({ id: Schema.String, own: Schema.Boolean }))
const readRows = Schema.decodeUnknownSync(Rows)

export class IdOwners extends Context.Service<
  IdOwners,
  {
    /**
     * Gives ids to their owner, unless another has them.
     * @param place the account of the vendor
     */
    readonly record: (
      place: string,
      owner: IdOwner,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<OwnedIds, StoreUnavailable>
    /** The ids that somebody owns, of the texts. */
    readonly find: (
      place: string,
      owner: IdOwner,
      texts: ReadonlyArray<string>,
    ) => Effect.Effect<OwnedIds, StoreUnavailable>
    /** The vendor has removed an id of the owner's. */
    readonly forget: (
      place: string,
      owner: IdOwner,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<void, StoreUnavailable>
  }
>()("weir/pass-through/IdOwners") {
  static readonly layer = Layer.effect(
    IdOwners,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      return IdOwners.of({
        record: (place, owner, ids) =>
          bounded(
            Effect.gen(function* () {
              const { org, app, person, endUser } = owner
              // In one order, so that two calls with the same ids do not wait for each other.
              const sorted = [...new Set(ids)].toSorted()
              yield* sql`
                insert into passed_ids (place, id, org_id, app_id, person_id, end_user_id)
                select ${place}, each, ${org}, ${app}, ${person}, ${endUser} from unnest(${sorted}::text[]) each
                on conflict (place, id) do nothing`
              return yield* ownedIn(sql, place, owner, sorted)
            }),
          ),
        find: (place, owner, texts) => bounded(ownedIn(sql, place, owner, texts)),
        forget: (place, { org, app, person, endUser }, ids) =>
          bounded(sql`
            delete from passed_ids where place = ${place} and id = any(${ids}::text[]) and org_id = ${org}
              and app_id = ${app} and person_id = ${person} and end_user_id = ${endUser}`).pipe(Effect.asVoid),
      })
    }),
  )
}

const ownedIn = (
  sql: SqlClient.SqlClient,
  place: string,
  { org, app, person, endUser }: IdOwner,
  texts: ReadonlyArray<string>,
) =>
  Effect.map(
    sql`
      select id, org_id = ${org} and app_id = ${app} and person_id = ${person} and end_user_id = ${endUser} as own
      from passed_ids where place = ${place} and id = any(${texts}::text[])`,
    (rows): OwnedIds => {
      const read = readRows(rows)
      return {
        own: new Set(read.flatMap(({ id, own }) => (own ? [id] : []))),
        others: new Set(read.flatMap(({ id, own }) => (own ? [] : [id]))),
      }
    },
  )
