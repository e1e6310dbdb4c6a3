/**
 * Calls that run now, on all nodes. A node publishes its running calls only when somebody asks: the question is sent as a
 * change, and the answers are read a moment later.
 */
import { Clock, Context, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { runAfter } from "../background.ts"
import type { OpenExchanges as OpenExchangeList } from "../protocol/control/exchange-log.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Calls, type ExchangesView } from "./calls.ts"

const oldestFirst = <Row extends { readonly startedAt: string }>(rows: ReadonlyArray<Row>): ReadonlyArray<Row> =>
  [...rows].sort((a, b) => a.startedAt.localeCompare(b.startedAt))

export class OpenCalls extends Context.Service<
  OpenCalls,
  {
    /** @param org returns only calls of this organisation @param person returns only calls with the tokens of this person */
    readonly list: (org?: string, person?: string) => Effect.Effect<OpenExchangeList, StoreUnavailable>
  }
>()("weir/calls/OpenCalls") {
  static readonly layer = Layer.effect(
    OpenCalls,
    Effect.gen(function* () {
      const calls = yield* Calls
      const feed = yield* ChangeFeed
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const asked = yield* Queue.sliding<void>(1)

      const show = Effect.suspend(() => {
        const { node, ...view } = calls.view(maxPerNode)
        return bounded(sql`
          insert into node_views as v (node, at, view)
          values (${node}, now(), ${JSON.stringify(view)}::text::json)
          on conflict (node) do update set at = excluded.at, view = excluded.view`)
      })

      yield* feed.subscribe((subjects) => {
        if (subjects !== "all" && [...subjects].includes(question)) Queue.offerUnsafe(asked, undefined)
      })
      yield* runAfter(Queue.take(asked), "Writing open exchanges", show)

      /** Asks all nodes, unless they were asked a moment ago. */
      let askedAtMs = 0
      const ask = Effect.gen(function* () {
        const nowMs = yield* Clock.currentTimeMillis
        if (nowMs - askedAtMs < answerMs) return
        askedAtMs = nowMs
        yield* bounded(sql`delete from node_views where at < now() - interval '1 minute'`)
        yield* feed.note(question)
        yield* show
        yield* Effect.sleep(answerMs)
      })

      return OpenCalls.of({
        list: Effect.fnUntraced(function* (org, person) {
          yield* ask
          const isShown = sql`(${org ?? null}::text is null or u.row ->> 'org' = ${org ?? null})
                and (${person ?? null}::text is null
                  or u.row ->> 'key' in (select id from access_tokens where user_id = ${person ?? null}))`
          // A node of an older version reports no sessions.
          const views = yield* bounded(sql<ExchangesView>`
            select node, (view ->> 'open')::int as open,
              array_to_json(array(select u.row from json_array_elements(view -> 'data') as u(row) where ${isShown})) as data,
              array_to_json(array(select u.row from json_array_elements(view -> 'sessions') as u(row) where ${isShown})) as sessions
            from node_views where at > now() - interval '5 seconds'`)
          const data = oldestFirst(views.flatMap(({ node, data }) => data.map((exchange) => ({ ...exchange, node }))))
          const sessions = oldestFirst(
            views.flatMap(({ node, sessions }) => sessions.map((session) => ({ ...session, node }))),
          )
          const isAll = org === undefined && person === undefined
          const open = isAll ? views.reduce((sum, view) => sum + view.open, 0) : data.length
          return { open, nodes: views.length, data, sessions }
        }),
      })
    }),
  )
}

/** The subject of the change that asks the nodes. */
const question = "look:exchanges"
/** The time in which nodes must answer. */
const answerMs = 200
const maxPerNode = 500
