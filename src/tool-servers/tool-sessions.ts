/** Sessions with servers of tools: one for each owner, as long as it is used and the server knows it. */
import { Cache, Context, Duration, Effect, Equal, Exit, Hash, Layer } from "effect"
import type { CallTarget, ToolServerEntry } from "../catalogue/snapshot.ts"
import { CallDeadlines } from "../deadlines.ts"
import type { Addressed, AskServices, ServerFailed } from "./ask-server.ts"
import { negotiate } from "./negotiate.ts"
import type { ServerSession } from "./server-session.ts"
import type { SessionOwner } from "./session-owner.ts"
import { ToolAccounts } from "./tool-accounts.ts"
import { ToolClient } from "./tool-client.ts"

/** A server that can be asked. */
export interface OpenServer {
  readonly at: Addressed
  readonly session: ServerSession
}

export class ToolSessions extends Context.Service<
  ToolSessions,
  {
    /** The session with a server; it is opened if there is none. */
    readonly open: (
      entry: ToolServerEntry,
      target: CallTarget,
      owner: SessionOwner,
    ) => Effect.Effect<OpenServer, ServerFailed>
    /** The server does not know the session any more. */
    readonly lost: (target: CallTarget, owner: SessionOwner) => Effect.Effect<void>
    /** The services for messages outside any call. */
    readonly asking: AskServices
  }
>()("weir/tools/ToolSessions") {
  static readonly layer = Layer.effect(
    ToolSessions,
    Effect.gen(function* () {
      const client = yield* ToolClient
      const accounts = yield* ToolAccounts
      const asking: AskServices = {
        client: client.client,
        deadlines: yield* CallDeadlines,
        timeoutMs: answerMs,
        maxBytes: mostAnswerBytes,
      }
      const sessions = yield* Cache.makeWith<SessionKey, ServerSession, ServerFailed>(
        ({ at, owner }) =>
          at === undefined ? Effect.die(noServer) : Effect.uninterruptible(negotiate(asking, at, owner.client)),
        {
          capacity: mostSessions,
          timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.hours(1) : Duration.zero),
        },
      )
      return ToolSessions.of({
        asking,
        open: (entry, target, owner) =>
          Effect.flatMap(accounts.headersOf(entry, owner), (account) => {
            const at = { entry, target, account }
            const session = client.sessionOf(entry) ?? Cache.get(sessions, new SessionKey(target, owner, at))
            return Effect.map(session, (session) => ({ at, session }))
          }),
        lost: (target, owner) => Cache.invalidate(sessions, new SessionKey(target, owner)),
      })
    }),
  )
}

const noServer = new Error("a session is opened with a server")

/** The time in which a server must answer outside calls, and the most bytes of an answer. */
const answerMs = 30_000
const mostAnswerBytes = 8 * 1024 * 1024
const mostSessions = 10_000

/** Keys are equal if their target and owner are. */
class SessionKey implements Equal.Equal {
  readonly owner: SessionOwner
  /** The way to the server; undefined for a key that only names a session. */
  readonly at: Addressed | undefined
  readonly #name: string

  constructor(target: CallTarget, owner: SessionOwner, at?: Addressed) {
    this.owner = owner
    this.at = at
    this.#name = JSON.stringify([target.key, owner.name])
  }

  [Hash.symbol](): number {
    return Hash.string(this.#name)
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof SessionKey && that.#name === this.#name
  }
}
