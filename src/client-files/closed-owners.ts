/** Erases the files of organisations, applications and people that were closed: nobody can read or erase them any more. */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { runEvery } from "../background.ts"
import { LongQueries } from "../store/connections.ts"
import { withDeadline } from "../store/database.ts"
import { inThoseThatAnswer } from "../store/shards/shards.ts"

const Owner = Schema.Struct({ org_id: Schema.String, app_id: Schema.String, person_id: Schema.String })
type Owner = typeof Owner.Type
const readOwners = Schema.decodeUnknownSync(Schema.Array(Owner))

export const layerClosedOwners = Layer.effectDiscard(
  Effect.gen(function* () {
    const { shards } = yield* LongQueries
    const sql = yield* SqlClient.SqlClient
    const bounded = withDeadline("60 seconds")

    const owners = inThoseThatAnswer(
      shards,
      ({ sql, books }) => sql`
        select distinct org_id, app_id, person_id from ${books}client_files where state = 'stored'`,
    ).pipe(Effect.map(readOwners), bounded)

    /** The ids of closed tenants of a kind, among those given. */
    const closedAmong = (kind: "org" | "app" | "user", ids: ReadonlySet<string>) =>
      sql<{ id: string }>`
        select id from tenants where kind = ${kind} and status = 'closed' and id = any(${[...ids]}::text[])`.pipe(
        Effect.map((rows) => new Set(rows.map(({ id }) => id))),
        bounded,
      )

    const erase = ({ org_id, app_id, person_id }: Owner) =>
      shards
        .of(org_id)
        .run(({ sql, books }) => sql`select ${books}files_of_owner_erase(${org_id}, ${app_id}, ${person_id})`)
        .pipe(bounded)

    const look = Effect.gen(function* () {
      const all = yield* owners
      if (all.length === 0) return
      const orgs = yield* closedAmong("org", new Set(all.map(({ org_id }) => org_id)))
      const apps = yield* closedAmong("app", new Set(all.map(({ app_id }) => app_id)))
      const people = yield* closedAmong("user", new Set(all.map(({ person_id }) => person_id)))
      const closed = all.filter(
        (owner) => orgs.has(owner.org_id) || apps.has(owner.app_id) || people.has(owner.person_id),
      )
      yield* Effect.forEach(closed, erase, { discard: true })
    })
    yield* runEvery("1 hour", "Erasing files of closed owners", look, { first: "10 minutes" })
  }),
)
