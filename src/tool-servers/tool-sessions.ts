/** Sessions with servers of tools: one for each owner, as long as it is used and the server knows it. */
import { Cache, Context, Duration, Effect, Equal, Exit, Hash, Layer } from "effect"
import type { CallTarget, ToolServerEntry } from "../catalogue/snapshot.ts"
import { CallDeadlines } from "../deadlines.ts"
import type { Addressed, AskServices, ServerFailed } from "./ask-server.ts"
import { negotiate } from "./negotiate.ts"
import type { ServerSession } from "./server-session.ts"
import type { SessionOwner } from "./session-owner.ts"
import { type Refusal, type ToolAccount, ToolAccounts } from "./tool-accounts.ts"
import { ToolClient } from "./tool-client.ts"

/** A server that can be asked. */
export interface OpenServer {
  readonly at: Addressed
  readonly session: ServerSession
  readonly account: ToolAccount
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
    /** Opens a session and asks in it, once more if the server refuses the account and there is a newer one. */
    readonly using: <A>(
      entry: ToolServerEntry,
      target: CallTarget,
      owner: SessionOwner,
      use: (open: OpenServer) => Effect.Effect<A, ServerFailed>,
    ) => Effect.Effect<A, ServerFailed>
    /** The server does not know the session any more. */
    readonly lost: (target: CallTarget, owner: SessionOwner, account: Pick<ToolAccount, "id">) => Effect.Effect<void>
    /** The account with which an owner asks a server. */
    readonly accountOf: ToolAccounts["Service"]["accountOf"]
    /** The server has refused an account. @returns whether the request should be sent again */
    readonly refused: ToolAccounts["Service"]["refused"]
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
      const lost = (target: CallTarget, owner: SessionOwner, account: Pick<ToolAccount, "id">) =>
        Cache.invalidate(sessions, new SessionKey(target, owner, account))

      const openWith = (entry: ToolServerEntry, target: CallTarget, owner: SessionOwner, account: ToolAccount) => {
        const at = { entry, target, account: account.headers }
        const session = client.sessionOf(entry) ?? Cache.get(sessions, new SessionKey(target, owner, account, at))
        return Effect.map(session, (session) => ({ at, session, account }))
      }

      /** @param mayRepeat whether it is done once more with a newer account */
      const using = <A>(
        entry: ToolServerEntry,
        target: CallTarget,
        owner: SessionOwner,
        use: (open: OpenServer) => Effect.Effect<A, ServerFailed>,
        mayRepeat = true,
      ): Effect.Effect<A, ServerFailed> =>
        Effect.flatMap(accounts.accountOf(entry, owner), (account) =>
          Effect.catch(Effect.flatMap(openWith(entry, target, owner, account), use), (failure) => {
            const { status } = failure
            if (status === 404 || status === 400)
              return Effect.andThen(lost(target, owner, account), Effect.fail(failure))
            if (!mayRepeat || !isRefusal(entry, failure)) return Effect.fail(failure)
            return Effect.flatMap(accounts.refused(entry, owner, account, failure), (isNewer) =>
              isNewer ? using(entry, target, owner, use, false) : Effect.fail(failure),
            )
          }),
        )

      return ToolSessions.of({
        asking,
        using,
        open: (entry, target, owner) => using(entry, target, owner, Effect.succeed),
        lost,
        accountOf: accounts.accountOf,
        refused: accounts.refused,
      })
    }),
  )
}

/** Whether a server refuses the account, or what it may do. */
const isRefusal = (
  { server: { oauth } }: ToolServerEntry,
  { reason, status }: Pick<ServerFailed, "reason"> & Refusal,
) => oauth !== undefined && reason === "refused" && (status === 401 || status === 403)

const noServer = new Error("a session is opened with a server")

/** The time in which a server must answer outside calls, and the most bytes of an answer. */
const answerMs = 30_000
const mostAnswerBytes = 8 * 1024 * 1024
const mostSessions = 10_000

/** Keys are equal if their target, owner and account are. */
class SessionKey implements Equal.Equal {
  readonly owner: SessionOwner
  /** The way to the server; undefined for a key that only names a session. */
  readonly at: Addressed | undefined
  readonly #name: string

  constructor(target: CallTarget, owner: SessionOwner, account: Pick<ToolAccount, "id">, at?: Addressed) {
    this.owner = owner
    this.at = at
    this.#name = JSON.stringify([target.key, owner.name, account.id])
  }

  [Hash.symbol](): number {
    return Hash.string(this.#name)
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof SessionKey && that.#name === this.#name
  }
}
