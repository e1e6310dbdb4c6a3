/** The stream on which a client gets changes of its lists and resources. It is open until the client leaves. */
import type { ServerResponse } from "node:http"
import { Deferred, Effect, Exit } from "effect"
import type { Catalogue } from "../../catalogue/catalogue.ts"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import { isObject } from "../../dialects/parse/json.ts"
import { joinedUri, splitUri } from "../../protocol/mcp/joined-names.ts"
import type { JsonObject, MessageId, NotificationMessage } from "../../protocol/mcp/message.ts"
import { type CallerTools, mayUseResources } from "../../tool-servers/caller-tools.ts"
import type { ToolSessions } from "../../tool-servers/tool-sessions.ts"
import { watchServer } from "../../tool-servers/watch-server.ts"
import { mostUri } from "../../tools/list-entries.ts"
import type { CallPlace } from "./find-call.ts"
import { resultText } from "./mcp-errors.ts"

/** The changes that a client wants. */
export interface ChangeFilter {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
  /** URIs, as the client names them; `all` that its session has asked for. */
  readonly uris: ReadonlyArray<string> | "all"
}

export const everything: ChangeFilter = { tools: true, prompts: true, resources: true, uris: "all" }

/** The most resources of one stream. */
const mostUris = 100

export const filterOf = ({ notifications }: JsonObject): ChangeFilter | undefined => {
  if (!isObject(notifications)) return undefined
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions = [] } = notifications
  const uris = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : undefined
  if (uris === undefined || uris.length > mostUris || !uris.every((uri) => typeof uri === "string")) return undefined
  return {
    tools: toolsListChanged === true,
    prompts: promptsListChanged === true,
    resources: resourcesListChanged === true,
    uris: uris.map(String),
  }
}

const subscription = "io.modelcontextprotocol/subscriptionId"

export interface ChangeStream {
  readonly response: ServerResponse
  readonly place: CallPlace
  readonly filter: ChangeFilter
  /** The id of the request that opened it; undefined in versions that have none. */
  readonly id: MessageId | undefined
}

export interface ChangeServices {
  readonly catalogue: Catalogue["Service"]
  readonly tools: CallerTools["Service"]
  readonly sessions: ToolSessions["Service"]
  readonly isDraining: () => boolean
}

const beatMs = 15_000
const lookMs = 1000
/** Changes of lists that come within this time are one. */
const togetherMs = 250
/** Bytes that wait for a client: one that reads so little is left, and begins again. */
const mostWaiting = 1024 * 1024
/** The time in which servers begin to announce. */
const beginMs = 2000

export const streamChanges = (
  services: ChangeServices,
  { response, place, filter, id }: ChangeStream,
): Effect.Effect<void> => {
  const { catalogue, tools, isDraining } = services
  const meta = id === undefined ? {} : { _meta: { [subscription]: id } }
  const write = (text: string) => {
    if (response.destroyed || response.writableEnded) return
    if (response.writableLength > mostWaiting) response.destroy()
    else response.write(`event: message\ndata: ${text}\n\n`)
  }
  const send = (method: string, params: JsonObject = {}) => {
    const all = { ...params, ...meta }
    write(JSON.stringify({ jsonrpc: "2.0", method, ...(Object.keys(all).length > 0 && { params: all }) }))
  }
  const listsChanged = () => {
    if (filter.tools) send("notifications/tools/list_changed")
    if (filter.prompts) send("notifications/prompts/list_changed")
    if (filter.resources) send("notifications/resources/list_changed")
  }
  /** Changed lists that are announced in a moment. */
  const coming = new Set<string>()
  const listChanged = (server: string, method: string) => {
    const name = `${server} ${method}`
    if (coming.has(name)) return
    coming.add(name)
    const announced = Effect.suspend(() => {
      coming.delete(name)
      const forgotten = tools.lists.forget(server)
      return Effect.map(forgotten, () => wantedBy(filter, method) && send(method))
    })
    Effect.runFork(Effect.andThen(Effect.sleep(togetherMs), announced))
  }
  const changed = (entry: ToolServerEntry, { method, params = {} }: NotificationMessage) => {
    const { id: server } = entry.server
    if (changesOfLists.has(method)) listChanged(server, method)
    else if (method === "notifications/resources/updated" && mayUseResources(place.caller, server)) {
      const uri = params["uri"]
      if (typeof uri !== "string" || uri.length > mostUri) return
      const named = place.isJoined ? joinedUri(server, uri) : uri
      if (filter.uris === "all" || filter.uris.includes(named)) send(method, { uri: named })
    }
  }
  const wait = Effect.callback<void>((resume) => {
    let { revision } = catalogue.current()
    let beatAt = Date.now() + beatMs
    const look = setInterval(() => {
      if (catalogue.current().revision !== revision) {
        ;({ revision } = catalogue.current())
        listsChanged()
      }
      if (isDraining()) resume(Effect.void)
      else if (Date.now() >= beatAt) {
        beatAt = Date.now() + beatMs
        response.write(": \n\n")
      }
    }, lookMs)
    response.once("close", () => resume(Effect.void))
    if (response.destroyed) resume(Effect.void)
    return Effect.sync(() => clearInterval(look))
  })
  const acknowledged = {
    ...(filter.tools && { toolsListChanged: true }),
    ...(filter.prompts && { promptsListChanged: true }),
    ...(filter.resources && { resourcesListChanged: true }),
    ...(filter.uris !== "all" && filter.uris.length > 0 && { resourceSubscriptions: filter.uris }),
  }
  return Effect.scoped(
    Effect.gen(function* () {
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      })
      response.flushHeaders()
      const scope = yield* Effect.scope
      const begun = yield* Effect.forEach(place.entries, (entry) =>
        Effect.gen(function* () {
          const hasBegun = yield* Deferred.make<void>()
          const begun = () => Deferred.doneUnsafe(hasBegun, Exit.void)
          yield* Effect.forkIn(
            Effect.ensuring(watchOne(services, place, entry, filter, { changed, begun }), Effect.sync(begun)),
            scope,
          )
          return Deferred.await(hasBegun)
        }),
      )
      // A change that follows the acknowledgement must not be missed.
      yield* Effect.timeoutOption(Effect.all(begun, { concurrency: "unbounded" }), beginMs)
      if (id !== undefined) send("notifications/subscriptions/acknowledged", { notifications: acknowledged })
      yield* wait
      if (id !== undefined && !response.destroyed) write(resultText(id, { resultType: "complete", ...meta }))
      response.end()
    }),
  )
}

const changesOfLists: ReadonlySet<string> = new Set(
  ["tools", "prompts", "resources"].map((list) => `notifications/${list}/list_changed`),
)

const wantedBy = ({ tools, prompts, resources }: ChangeFilter, method: string): boolean =>
  (tools && method === "notifications/tools/list_changed") ||
  (prompts && method === "notifications/prompts/list_changed") ||
  (resources && method === "notifications/resources/list_changed")

/** A server that cannot be reached announces nothing. */
const watchOne = (
  { sessions }: ChangeServices,
  { caller, owner, isJoined }: CallPlace,
  entry: ToolServerEntry,
  filter: ChangeFilter,
  on: { readonly changed: (entry: ToolServerEntry, message: NotificationMessage) => void; readonly begun: () => void },
): Effect.Effect<void> => {
  const [target] = entry.targets
  if (target === undefined || entry.server.url === undefined) return Effect.void
  const mayListen = filter.uris !== "all" && mayUseResources(caller, entry.server.id)
  const uris = (mayListen ? filter.uris : []).flatMap((uri) => {
    if (!isJoined) return [uri]
    const split = splitUri(uri)
    return split?.server === entry.server.id ? [split.name] : []
  })
  return Effect.ignore(
    Effect.flatMap(sessions.open(entry, target, owner), ({ at, session }) =>
      Effect.scoped(
        watchServer(sessions.asking, at, session, {
          resources: uris,
          changed: (message) => on.changed(entry, message),
          begun: on.begun,
        }),
      ),
    ),
  )
}
