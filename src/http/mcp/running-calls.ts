/**
 * The calls that run on this node, by their clients' names of them. A client with a session may cancel one at any node: a node that does
 * not run it notifies the others.
 */
import { createHash } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect } from "effect"
import { WeirConfig } from "../../config.ts"
import type { MessageId } from "../../protocol/mcp/message.ts"
import { CallQueries } from "../../store/connections.ts"
import { listenTo } from "../../store/listen.ts"
import type { SessionOwner } from "../../tool-servers/session-owner.ts"
import type { ToolConnection } from "./tool-connection.ts"

const channel = "weir_cancelled_calls"

export class RunningCalls {
  readonly #running = new Map<string, ToolConnection>()

  /** @returns the function that removes it */
  add(owner: SessionOwner, id: MessageId, connection: ToolConnection): () => void {
    const key = keyOf(owner, id)
    this.#running.set(key, connection)
    return () => {
      if (this.#running.get(key) === connection) this.#running.delete(key)
    }
  }

  /** @returns whether this node runs it */
  cancel(key: string): boolean {
    const connection = this.#running.get(key)
    connection?.cancel()
    return connection !== undefined
  }
}

/** A hash of its names: messages between nodes have none of them. */
const keyOf = ({ name }: SessionOwner, id: MessageId): string =>
  createHash("sha256")
    .update(JSON.stringify([name, id]))
    .digest("base64url")

/** Cancels calls, wherever they run. */
export const makeCancelCall = Effect.fnUntraced(function* (running: RunningCalls) {
  const { databaseUrl } = yield* WeirConfig
  const client = yield* PgClient.PgClient
  const { sql } = yield* CallQueries
  yield* listenTo(channel, (key) => Effect.sync(() => void running.cancel(key))).pipe(
    Effect.provideService(PgClient.PgClient, client),
  )
  return (owner: SessionOwner, id: MessageId): Effect.Effect<void> =>
    Effect.suspend(() => {
      const key = keyOf(owner, id)
      if (running.cancel(key) || databaseUrl === undefined) return Effect.void
      return sql`select pg_notify(${channel}, ${key})`.pipe(
        Effect.asVoid,
        Effect.catch((cause) => Effect.logWarning("Other nodes could not be notified of a cancelled call", cause)),
      )
    })
})
