/**
 * Recalls: if money is scarce, a node asks the others to return their free amounts, before it refuses. Nodes notify each
 * other by `NOTIFY`; a node that is alone asks nobody.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Context, Deferred, Effect, Layer, Option, Schema, type Scope } from "effect"
import { WeirConfig } from "../config.ts"
import { CallQueries } from "../store/connections.ts"
import { listenTo } from "../store/listen.ts"

const Message = Schema.Struct({
  kind: Schema.Literals(["recall", "returned"]),
  /** The sender, which ignores its own message. */
  from: Schema.String,
  orgId: Schema.String,
  counter: Schema.String,
  /** The number of nodes for which a process answers; one if absent. */
  nodes: Schema.optionalKey(Schema.Int),
})
type Message = typeof Message.Type
const MessageJson = Schema.fromJsonString(Message)
const encode = Schema.encodeSync(MessageJson)
const decode = Schema.decodeUnknownOption(MessageJson)

/** Carries messages to all nodes, the sender included; some may be lost. */
export class RecallChannel extends Context.Service<
  RecallChannel,
  {
    readonly publish: (message: string) => Effect.Effect<void>
    readonly subscribe: (hear: (message: string) => Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
  }
>()("weir/money/RecallChannel") {
  /** `LISTEN` and `NOTIFY`; nothing with the embedded database, which has one node. */
  static readonly layer = Layer.effect(
    RecallChannel,
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const client = yield* PgClient.PgClient
      const { sql } = yield* CallQueries
      return RecallChannel.of({
        publish: (message) =>
          config.databaseUrl === undefined
            ? Effect.void
            : sql`select pg_notify(${channelName}, ${message})`.pipe(
                Effect.asVoid,
                Effect.catch((cause) => Effect.logWarning("Other nodes could not be notified", cause)),
              ),
        // Until the scope of the subscriber closes.
        subscribe: (hear) =>
          listenTo(channelName, hear).pipe(
            Effect.provideService(PgClient.PgClient, client),
            Effect.provideService(WeirConfig, config),
          ),
      })
    }),
  )

  /** Messages within this process: for tests of several nodes. */
  static readonly layerLocal = Layer.sync(RecallChannel, () => {
    const ears = new Set<(message: string) => Effect.Effect<void>>()
    return RecallChannel.of({
      publish: (message) => Effect.forEach([...ears], (hear) => hear(message), { discard: true }),
      subscribe: (hear) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => ears.add(hear)),
            () => Effect.sync(() => ears.delete(hear)),
          ),
        ),
    })
  })
}

/**
 * The channel, listened to once for all subscribers.
 * @param hearers the number of subscribers; a single one listens to the channel itself
 */
export const shareChannel = Effect.fnUntraced(function* (hearers: number) {
  const channel = yield* RecallChannel
  if (hearers <= 1) return channel
  const ears: Array<(message: string) => Effect.Effect<void>> = []
  yield* channel.subscribe((message) => Effect.forEach(ears, (hear) => hear(message), { discard: true }))
  return RecallChannel.of({
    publish: channel.publish,
    subscribe: (hear) =>
      Effect.sync(() => {
        ears.push(hear)
      }),
  })
})

const channelName = "weir_recall"

/** The time for which a node waits for the others. */
const patience = "500 millis"

export interface Recalls {
  /** Asks the other nodes, and waits until as many have answered, or for {@link patience}. */
  readonly recall: (orgId: string, counter: string, others: number) => Effect.Effect<void>
}

/** @param giveBack returns this process's free amounts, and the number of its nodes that have or had some */
export const makeRecalls = Effect.fnUntraced(function* (
  self: string,
  giveBack: (orgId: string, counter: string) => Effect.Effect<number>,
): Effect.fn.Return<Recalls, never, RecallChannel | Scope.Scope> {
  const channel = yield* RecallChannel
  const waiting = new Map<string, { missing: number; readonly done: Deferred.Deferred<void> }>()
  const send = (message: Omit<Message, "from">) => channel.publish(encode({ from: self, ...message }))

  const hear = ({ kind, from, orgId, counter, nodes = 1 }: Message): Effect.Effect<void> => {
    if (from === self) return Effect.void
    if (kind === "recall") {
      return Effect.flatMap(giveBack(orgId, counter), (having) =>
        having > 0 ? send({ kind: "returned", orgId, counter, nodes: having }) : Effect.void,
      )
    }
    const recall = waiting.get(keyOf(orgId, counter))
    if (recall === undefined) return Effect.void
    recall.missing -= nodes
    if (recall.missing > 0) return Effect.void
    return Effect.asVoid(Deferred.succeed(recall.done, undefined))
  }
  // Answers wait for the store: the next message must not wait for them.
  yield* channel.subscribe((text) => {
    const message = Option.getOrUndefined(decode(text))
    return message === undefined ? Effect.void : Effect.asVoid(Effect.forkDetach(hear(message)))
  })

  return {
    recall: (orgId, counter, others) =>
      Effect.suspend(() => {
        const key = keyOf(orgId, counter)
        const running = waiting.get(key)
        if (running !== undefined) return Effect.ignore(Effect.timeout(Deferred.await(running.done), patience))
        const recall = { missing: others, done: Deferred.makeUnsafe<void>() }
        waiting.set(key, recall)
        return send({ kind: "recall", orgId, counter }).pipe(
          Effect.andThen(Effect.timeout(Deferred.await(recall.done), patience)),
          Effect.ignore,
          Effect.ensuring(
            Effect.suspend(() => {
              waiting.delete(key)
              return Deferred.succeed(recall.done, undefined)
            }),
          ),
        )
      }),
  }
})

const keyOf = (orgId: string, counter: string): string => `${orgId} ${counter}`
