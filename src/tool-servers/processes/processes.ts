/**
 * Tool servers that run as local processes: a pool of processes for each, behind the interface of calls to vendors.
 *
 * **Details**: `start` takes requests whose `baseUrl` is `process:ID`. The body, a JSON-RPC message, is written to a process under
 * an id of the pool's own; each message that belongs to it is an event of the reply, with the client's own id. The reply ends after
 * the response. `abort` cancels the call. A call that has `connected` may have run; one that broke before has not.
 *
 * **Gotchas**: several processes of a server share no state. Memory is checked only where Linux has `/proc`.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, type Scope } from "effect"
import { Keyed, makeForkIn } from "../../collections.ts"
import { makeDirectory } from "../../files/directory.ts"
import {
  type ReplyListener,
  UpstreamBroken,
  type UpstreamCall,
  type UpstreamRequest,
  type VendorClient,
} from "../../upstream/client.ts"
import { ProcessCall } from "./call.ts"
import { makeErrorLog } from "./error-log.ts"
import { Guard } from "./guard.ts"
import { readSent } from "./messages.ts"
import {
  type CommandServer,
  defaultLimits,
  type PoolState,
  ProcessFailed,
  type ProcessOptions,
  type ServerAnswer,
  type ServerSession,
} from "./options.ts"
import { Pool } from "./pool.ts"

export interface Processes {
  /** Starts a call, as `VendorClient` does. */
  readonly start: (request: UpstreamRequest, listener: ReplyListener) => UpstreamCall
  /** Negotiates a version with a server, if no process of it has done so. */
  readonly ready: (id: string) => Effect.Effect<ServerSession, ProcessFailed>
  /** The last session of a server; undefined before the first one. */
  readonly sessionOf: (id: string) => ServerSession | undefined
  readonly versionOf: (id: string) => string | undefined
  readonly stateOf: (id: string) => PoolState | undefined
  /** Replaces the servers. Processes of those that have changed end when their calls have ended. */
  readonly declare: (servers: ReadonlyArray<CommandServer>) => void
}

export const isProcessUrl = (baseUrl: string): boolean => baseUrl.startsWith(scheme)

export const processUrlOf = (id: string): string => `${scheme}${id}`

/** A client that sends requests for `process:ID` to processes, and all others on. */
export const clientWith = (
  client: VendorClient["Service"],
  processes: Pick<Processes, "start">,
): VendorClient["Service"] => ({
  start: (request, listener) => (isProcessUrl(request.baseUrl) ? processes : client).start(request, listener),
})

const scheme = "process:"

interface Declared {
  readonly server: CommandServer
  readonly pool: Pool
}

/** The processes end with the scope. */
export const makeProcesses = Effect.fnUntraced(function* (
  options: ProcessOptions,
): Effect.fn.Return<Processes, never, Scope.Scope> {
  const limits = { ...defaultLimits, ...options.limits }
  const fork = yield* makeForkIn
  const folder = yield* folderOf(options.folder)
  const guard = yield* Effect.acquireRelease(
    Effect.sync(() => new Guard(limits.killMs)),
    (made) => Effect.sync(() => made.close()),
  )
  const declared = new Keyed<Declared>()
  const retired = new Set<Pool>()

  const declare = (server: CommandServer): void => {
    const { id } = server
    const own = join(folder, id)
    makeDirectory(own)
    const errorLine = makeErrorLog({ server: id, maxLines: limits.maxLoggedLines, fork })
    const pool = new Pool({
      server,
      folder: own,
      maxMessageBytes: options.maxMessageBytes,
      limits,
      guard,
      capabilities: options.capabilities ?? {},
      fork,
      listener: {
        errorLine,
        notification: (notification) => options.onNotification?.(id, notification),
        request: (request, respond) => {
          fork(options.answer?.(id, request) ?? Effect.succeed(unknownMethod)).addObserver((exit) =>
            respond(Exit.isSuccess(exit) ? exit.value : noAnswer),
          )
        },
      },
      failed: ({ message }) => {
        fork(Effect.logWarning("A process of a tool server has ended", { server: id, reason: message }))
      },
    })
    declared.set(id, { server, pool })
  }
  const retire = (id: string): void => {
    const pool = declared.take(id)?.pool
    if (pool === undefined) return
    pool.retire(new ProcessFailed({ reason: "closed", message: `the tool server ${id} has changed` }))
    retired.add(pool)
    for (const each of retired) if (each.state.processes === 0) retired.delete(each)
  }
  const poolOf = (id: string): Pool | undefined => declared.get(id)?.pool

  for (const server of options.servers) declare(server)
  yield* Effect.addFinalizer(() => {
    const pools = [...retired, ...declared.values().map(({ pool }) => pool)]
    return Effect.forEach(pools, (pool) => pool.end(gatewayEnds), { concurrency: "unbounded", discard: true })
  })

  return {
    start: (request, listener) => startIn(poolOf(request.baseUrl.slice(scheme.length)), request, listener),
    ready: (id) => poolOf(id)?.ready ?? Effect.fail(unknownServer(id)),
    sessionOf: (id) => poolOf(id)?.session,
    versionOf: (id) => poolOf(id)?.session?.version,
    stateOf: (id) => poolOf(id)?.state,
    declare: (servers) => {
      const kept = new Set(servers.map(({ id }) => id))
      for (const [id] of declared.entries()) if (!kept.has(id)) retire(id)
      for (const server of servers) {
        const known = declared.get(server.id)
        if (known !== undefined && isSame(known.server, server)) continue
        retire(server.id)
        declare(server)
      }
    },
  }
})

const startIn = (pool: Pool | undefined, request: UpstreamRequest, listener: ReplyListener): UpstreamCall => {
  const refuse = (cause: ProcessFailed): UpstreamCall => {
    listener.broken(new UpstreamBroken({ cause }))
    return noCall
  }
  if (pool === undefined) return refuse(unknownServer(request.baseUrl.slice(scheme.length)))
  const text = textOf(request.body)
  const sent = text === undefined ? undefined : readSent(text)
  if (sent === undefined)
    return refuse(new ProcessFailed({ reason: "message", message: "the body is no JSON-RPC request" }))
  const call = new ProcessCall(sent, listener, (left) => pool.cancel(left))
  if (sent.id !== undefined) {
    pool.start(call)
    return call
  }
  call.connected()
  // A cancellation names an id that the process does not know, and each process has had its `initialized`.
  if (!ownNotifications.has(sent.method)) pool.notify(sent.json)
  call.accepted()
  return call
}

/** Notifications that the pool writes itself. */
const ownNotifications: ReadonlySet<string> = new Set(["notifications/initialized", "notifications/cancelled"])

/** Undefined for files, which no message of JSON-RPC has. */
const textOf = (body: UpstreamRequest["body"]): string | undefined => {
  if (typeof body === "string") return body
  return body instanceof Uint8Array ? Buffer.from(body).toString("utf8") : undefined
}

const isSame = (one: CommandServer, other: CommandServer): boolean => JSON.stringify(one) === JSON.stringify(other)

const folderOf = (folder: string | undefined): Effect.Effect<string, never, Scope.Scope> =>
  folder !== undefined
    ? Effect.succeed(folder)
    : Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "weir-tools-"))),
        (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true })),
      )

const unknownServer = (id: string): ProcessFailed =>
  new ProcessFailed({ reason: "unknown", message: `there is no tool server ${id}` })

const gatewayEnds = new ProcessFailed({ reason: "closed", message: "the gateway ends" })
const unknownMethod: ServerAnswer = { error: { code: -32601, message: "Method not found" } }
const noAnswer: ServerAnswer = { error: { code: -32603, message: "The request could not be answered" } }
const noCall: UpstreamCall = { pause: () => {}, resume: () => {}, leave: () => {}, abort: () => {} }
