/** The lists of servers: their tools, prompts and resources, read whole and kept for a while. */
import { Cache, Context, Duration, Effect, Equal, Exit, Fiber, Hash, Layer, Option } from "effect"
import type { ToolServerEntry } from "../catalogue/snapshot.ts"
import { makeForkIn } from "../collections.ts"
import type { JsonObject } from "../protocol/mcp/message.ts"
import type { McpVersion } from "../protocol/mcp/versions.ts"
import { usableEntries } from "../tools/list-entries.ts"
import { isOffered } from "../tools/tool-names.ts"
import { ask, ServerFailed } from "./ask-server.ts"
import { readPages, type ServerList } from "./list-pages.ts"
import { isStateless, statelessMeta } from "./server-session.ts"
import type { SessionOwner } from "./session-owner.ts"
import { SharedLists } from "./shared-lists.ts"
import { ToolClient } from "./tool-client.ts"
import { ToolPins } from "./tool-pins.ts"
import { ToolSessions } from "./tool-sessions.ts"

/** A list by the member of its answers. */
export const listNames = ["tools", "prompts", "resources", "resourceTemplates"] as const
export type ListName = (typeof listNames)[number]

const methods: Readonly<Record<ListName, string>> = {
  tools: "tools/list",
  prompts: "prompts/list",
  resources: "resources/list",
  resourceTemplates: "resources/templates/list",
}

/** The capability of a server that has a list. */
const capabilities: Readonly<Record<ListName, string>> = {
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  resourceTemplates: "resources",
}

/** The tools of a server at this moment. */
export interface PresentTools extends ServerList {
  readonly version: McpVersion
  /** The names of tools whose change waits for an operator; their entries are the changed ones. */
  readonly heldBack: ReadonlySet<string>
}

export class ToolLists extends Context.Service<
  ToolLists,
  {
    /** A list of a server; the last one that is known if the server does not answer now. */
    readonly read: (
      entry: ToolServerEntry,
      list: ListName,
      owner: SessionOwner,
    ) => Effect.Effect<ServerList, ServerFailed>
    /** Asks a server for its tools now, without those that are kept. */
    readonly look: (entry: ToolServerEntry, owner: SessionOwner) => Effect.Effect<PresentTools, ServerFailed>
    /** The next reader asks the server again. */
    readonly forget: (server: string) => Effect.Effect<void>
  }
>()("weir/tools/ToolLists") {
  static readonly layer = Layer.effect(
    ToolLists,
    Effect.gen(function* () {
      const sessions = yield* ToolSessions
      const pins = yield* ToolPins
      const { onChange, forget: forgetDocument } = yield* ToolClient
      const fork = yield* makeForkIn
      const known = new Map<string, ServerList>()
      const shared = new SharedLists(mostLists)

      /** The tools whose change waits for an operator. */
      const changedOf = (
        { server }: ToolServerEntry,
        entries: ReadonlyArray<JsonObject>,
      ): Effect.Effect<ReadonlySet<string>, ServerFailed> => {
        if (server.changes === "offer") return Effect.succeed(new Set())
        const named = entries.filter(({ name }) => isOffered(server, String(name)))
        return Effect.mapError(
          pins.changedIn(server.id, named),
          (cause) => new ServerFailed({ reason: "unreachable", status: 0, headers: {}, cause }),
        )
      }

      /** Without entries that clients cannot read, and without the tools whose change waits for an operator. */
      const pinned = Effect.fnUntraced(function* (
        { entry, list }: ListKey,
        { entries: given, isCut }: ServerList,
      ): Effect.fn.Return<ServerList, ServerFailed> {
        const { id } = entry.server
        const { entries, leftOut } = usableEntries(list, given)
        if (leftOut > 0)
          yield* Effect.logWarning("Entries of a list are not as the protocol has them, and are left out", {
            server: id,
            list,
            entries: leftOut,
          })
        if (list !== "tools") return { entries, isCut }
        const changed = yield* changedOf(entry, entries)
        if (changed.size === 0) return { entries, isCut }
        yield* Effect.logWarning("Tools have changed, and are held back until an operator agrees", {
          server: id,
          tools: [...changed].slice(0, 20),
        })
        return { isCut, entries: entries.filter(({ name }) => !changed.has(String(name))) }
      })

      const fetch = Effect.fnUntraced(function* ({
        entry,
        list,
        owner,
      }: ListKey): Effect.fn.Return<ServerList & Pick<PresentTools, "version">, ServerFailed> {
        let failure: ServerFailed | undefined
        for (const target of entry.targets) {
          const read = yield* Effect.result(
            sessions.using(entry, target, owner, ({ session, at }) => {
              const page = (params: JsonObject) =>
                Effect.map(
                  ask(sessions.asking, at, session, { method: methods[list], params }, "list"),
                  ({ message }) => ("result" in message ? message.result : undefined),
                )
              const hasList = session.capabilities[capabilities[list]] !== undefined
              const meta = isStateless(session) ? { _meta: statelessMeta() } : {}
              const read = hasList
                ? readPages((cursor) => page({ ...meta, ...(cursor !== undefined && { cursor }) }), list)
                : Effect.succeed(empty)
              return Effect.map(read, (found) => ({ ...found, version: session.version }))
            }),
          )
          if (read._tag === "Success") return read.success
          failure = read.failure
        }
        return yield* failure ?? new ServerFailed({ reason: "unreachable", status: 0, headers: {} })
      })

      const lists = yield* Cache.makeWith<ListKey, ServerList, ServerFailed>(
        (key) =>
          Effect.uninterruptible(
            Effect.flatMap(fetch(key), (read) => Effect.map(pinned(key, read), (list) => shared.of(list))),
          ),
        {
          capacity: mostLists,
          timeToLive: (exit) => (Exit.isSuccess(exit) ? freshFor : pauseAfter(exit)),
        },
      )

      const forget = (server: string) =>
        Effect.flatMap(Effect.andThen(forgetDocument(server), Cache.keys(lists)), (keys) =>
          Effect.forEach(
            [...keys].filter(({ entry }) => entry.server.id === server),
            (key) => Cache.invalidate(lists, key),
            { discard: true },
          ),
        )
      /** Servers whose lists are read again in a moment: changes that come together are one. */
      const changed = new Set<string>()
      onChange((server) => {
        if (changed.has(server)) return
        changed.add(server)
        const forgotten = Effect.suspend(() => {
          changed.delete(server)
          return forget(server)
        })
        fork(Effect.andThen(Effect.sleep(togetherMs), forgotten))
      })
      return ToolLists.of({
        read: Effect.fnUntraced(function* (entry, list, owner) {
          const account = yield* sessions.accountOf(entry, owner)
          const key = new ListKey(entry, list, owner, account.id)
          // A reader that does not wait any longer leaves the others their list.
          return yield* Effect.forkDetach(Cache.get(lists, key)).pipe(
            Effect.flatMap(Fiber.join),
            Effect.tap((read) =>
              Effect.sync(() => {
                known.delete(key.name)
                known.set(key.name, read)
                for (const first of known.keys()) if (known.size > mostLists) known.delete(first)
              }),
            ),
            Effect.catch((failure) => {
              const last = known.get(key.name)
              const log = Effect.logWarning("A server of tools did not give its list", {
                server: entry.server.id,
                list,
                reason: failure.reason,
                status: failure.status,
              })
              return Effect.andThen(log, last === undefined ? Effect.fail(failure) : Effect.succeed(last))
            }),
          )
        }),
        look: Effect.fnUntraced(function* (entry, owner) {
          const account = yield* sessions.accountOf(entry, owner)
          const read = yield* fetch(new ListKey(entry, "tools", owner, account.id))
          return { ...read, heldBack: yield* changedOf(entry, usableEntries("tools", read.entries).entries) }
        }),
        forget,
      })
    }),
  )
}

const empty: ServerList = { entries: [], isCut: false }
const togetherMs = 250
const freshFor = Duration.seconds(60)
/** A server that does not answer is not waited for by each reader. */
const pauseAfter = (exit: Exit.Exit<ServerList, ServerFailed>) => {
  const failure = Option.getOrUndefined(Exit.findErrorOption(exit))
  switch (failure?.reason) {
    case "slow":
      return Duration.seconds(30)
    case "unreachable":
      return Duration.seconds(10)
    default:
      return Duration.seconds(2)
  }
}
const mostLists = 5000
/** Keys are equal if their server, list, owner and account are. The server is another one after a change of the catalogue. */
class ListKey implements Equal.Equal {
  readonly entry: ToolServerEntry
  readonly list: ListName
  readonly owner: SessionOwner
  readonly name: string

  /** @param account the id of the account with which it is read */
  constructor(entry: ToolServerEntry, list: ListName, owner: SessionOwner, account: string) {
    this.entry = entry
    this.list = list
    this.owner = owner
    this.name = JSON.stringify([entry.server.id, list, owner.name, account, entry.targets.map(({ key }) => key)])
  }

  [Hash.symbol](): number {
    return Hash.string(this.name)
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof ListKey && that.name === this.name
  }
}
