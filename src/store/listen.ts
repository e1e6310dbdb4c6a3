/** `LISTEN` and `NOTIFY` between nodes. The embedded database has one node, which receives nothing. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Deferred, Effect, Queue, type Scope } from "effect"
import { runEvery } from "../background.ts"
import { WeirConfig } from "../config.ts"

/**
 * Receives the messages of a channel until the scope closes, on a connection of its own. Messages are lost while there is no
 * connection, and behind a pooler in transaction mode.
 */
export const listenTo = Effect.fnUntraced(function* (
  channel: string,
  hear: (message: string) => Effect.Effect<void>,
): Effect.fn.Return<void, never, PgClient.PgClient | WeirConfig | Scope.Scope> {
  const { databaseUrl } = yield* WeirConfig
  if (databaseUrl === undefined) return
  const client = yield* PgClient.PgClient
  const listening = Deferred.makeUnsafe<void>()
  const listen = Effect.scoped(
    Effect.flatMap(client.listen(channel), (queue) =>
      Effect.andThen(
        Deferred.succeed(listening, undefined),
        Effect.forever(Effect.flatMap(Queue.take(queue), ({ payload }) => hear(payload ?? ""))),
      ),
    ),
  )
  yield* runEvery("1 second", `Listening to ${channel}`, listen)
  // A gateway starts without it nevertheless.
  yield* Effect.ignore(Effect.timeout(Deferred.await(listening), "1 second"))
})
