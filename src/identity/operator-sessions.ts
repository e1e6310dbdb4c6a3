/**
 * Sessions of operators in a browser: the admin key is exchanged for a sealed cookie, so that no script has the key.
 *
 * **Details**: a session ends after eight hours, when the operator signs out, and when the admin key is replaced.
 * Without `SVC_MASTER_KEY` it also ends with the process that sealed it.
 * Source: OWASP Session Management Cheat Sheet.
 */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { mintSecret } from "../secrets.ts"
import { makeCachedLookup } from "../store/cached-lookup.ts"
import { queryDeadline } from "../store/database.ts"
import { Sealing } from "../store/seal.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { AdminKey } from "./admin.ts"

export const operatorSessionMs = 8 * 3600 * 1000

const OperatorSession = Schema.Struct({ id: Schema.String, expiresAtMs: Schema.Int, adminKey: Schema.String })
export interface OperatorSession {
  readonly id: string
  readonly expiresAtMs: number
}

export class OperatorSessions extends Context.Service<
  OperatorSessions,
  {
    /** Begins a session of an operator who has given the admin key. The cookie's value is returned with it. */
    readonly begin: Effect.Effect<OperatorSession & { readonly cookie: string }, StoreUnavailable>
    /** The session of a cookie. */
    readonly check: (
      cookie: string,
    ) => Effect.Effect<OperatorSession, ServiceError<"admin_key_invalid"> | StoreUnavailable>
    readonly end: (session: OperatorSession) => Effect.Effect<void, StoreUnavailable>
  }
>()("weir/identity/OperatorSessions") {
  static readonly layer = Layer.effect(
    OperatorSessions,
    Effect.gen(function* () {
      const { authStaleMs } = yield* WeirConfig
      const { sealer } = yield* Sealing
      const adminKey = yield* AdminKey
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline

      const active = yield* makeCachedLookup<{ readonly id: string }>(
        (id) =>
          Effect.map(
            bounded(sql<{ id: string }>`select id from operator_sessions where id = ${id} and ended_at is null`),
            (rows) => rows[0],
          ),
        authStaleMs,
      )

      return OperatorSessions.of({
        begin: Effect.gen(function* () {
          const id = mintSecret("ops").slice(0, 24)
          const expiresAtMs = (yield* Clock.currentTimeMillis) + operatorSessionMs
          yield* bounded(sql`
            select operator_session_begin(${id}, ${new Date(expiresAtMs).toISOString()}::text::timestamptz)`)
          const sealed = encode({ id, expiresAtMs, adminKey: adminKey.generation() ?? "" })
          return { id, expiresAtMs, cookie: sealer.seal(sealed, context) }
        }),
        check: Effect.fnUntraced(function* (cookie) {
          const opened = sealer.open(cookie, context)
          const session = opened === undefined ? undefined : Option.getOrUndefined(decode(opened))
          const isCurrent = session !== undefined && session.adminKey === adminKey.generation()
          if (!isCurrent || session.expiresAtMs <= (yield* Clock.currentTimeMillis)) return yield* hasEnded
          if ((yield* active(session.id)) === undefined) return yield* hasEnded
          return session
        }),
        end: ({ id }) => Effect.asVoid(bounded(sql`select operator_session_end(${id})`)),
      })
    }),
  )
}

const context = "operator session"
const codec = Schema.fromJsonString(OperatorSession)
const encode = Schema.encodeSync(codec)
const decode = Schema.decodeUnknownOption(codec)

const hasEnded = serviceError("admin_key_invalid", "The session has ended: sign in with the admin key again")
