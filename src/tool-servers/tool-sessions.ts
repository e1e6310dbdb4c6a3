/** Sessions with servers of tools: one for each owner, as long as it is used and the server knows it. */
import { Cache, Context, Duration, Effect, Equal, Exit, Hash, Layer } from "effect"
import type { CallTarget, ToolServerEntry } from "../catalogue/snapshot.ts"
import { CallDeadlines } from "../deadlines.ts"
import type { Addressed, AskServices, ServerFailed } from "./ask-server.ts"
import { negotiate, type SessionClient } from "./negotiate.ts"
import type { ServerSession } from "./server-session.ts"
import { ToolClient } from "./tool-client.ts"

export interface SessionOwner {
  /** The owner's name: sessions are shared by nobody else. Empty for the gateway's own lists. */
  readonly name: string
  readonly client: SessionClient
  /** Headers that carry its own account at the server. */
  readonly account: Readonly<Record<string, string>>
}

export class ToolSessions extends Context.Service<
  ToolSessions,
  {
    /** The session with a server; it is opened if there is none. */
    readonly open: (
      entry: ToolServerEntry,
      target: CallTarget,
      owner: SessionOwner,
    ) => Effect.Effect<ServerSession, ServerFailed>
    /** The server does not know the session any more. */
    readonly lost: (entry: ToolServerEntry, target: CallTarget, owner: SessionOwner) => Effect.Effect<void>
    /** The services for messages outside any call. */
    readonly asking: AskServices
  }
>()("weir/tools/ToolSessions") {
  static readonly layer = Layer.effect(
    ToolSessions,
    Effect.gen(function* () {
      const client = yield* ToolClient
      const asking: AskServices = {
        client: client.client,
        deadlines: yield* CallDeadlines,
        timeoutMs: answerMs,
        maxBytes: mostAnswerBytes,
      }
      const sessions = yield* Cache.makeWith<SessionKey, ServerSession, ServerFailed>(
        ({ at, client }) => Effect.uninterruptible(negotiate(asking, at, client)),
        {
          capacity: mostSessions,
          timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.hours(1) : Duration.zero),
        },
      )
      return ToolSessions.of({
        asking,
        open: (entry, target, owner) =>
          client.sessionOf(entry) ??
          Cache.get(sessions, new SessionKey({ entry, target, account: owner.account }, owner)),
        lost: (entry, target, owner) =>
          Cache.invalidate(sessions, new SessionKey({ entry, target, account: owner.account }, owner)),
      })
    }),
  )
}

/** The time in which a server must answer outside calls, and the most bytes of an answer. */
const answerMs = 30_000
const mostAnswerBytes = 8 * 1024 * 1024
const mostSessions = 10_000

/** Keys are equal if their target and owner are. */
class SessionKey implements Equal.Equal {
  readonly at: Addressed
  readonly client: SessionClient
  readonly #name: string

  constructor(at: Addressed, owner: SessionOwner) {
    this.at = at
    this.client = owner.client
    this.#name = JSON.stringify([at.target.key, owner.name])
  }

  [Hash.symbol](): number {
    return Hash.string(this.#name)
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof SessionKey && that.#name === this.#name
  }
}
