/**
 * The processes of one server: calls share them, up to a number for each process; further calls wait.
 *
 * **Details**: a process is started for the first call that needs it, and another one when every process has several calls. One is
 * started at a time. After a crash there is a pause, which doubles with each further one; a call that was in flight is broken and
 * never sent again.
 */
import { Effect, Exit, type Fiber } from "effect"
import { type Member, Members } from "../../collections.ts"
import type { JsonObject } from "../../dialects/parse/json.ts"
import type { ProcessCall } from "./call.ts"
import { Connection, type ConnectionListener } from "./connection.ts"
import type { Guard } from "./guard.ts"
import { negotiate } from "./handshake.ts"
import { type CommandServer, type PoolState, ProcessFailed, type ProcessLimits, type ServerSession } from "./options.ts"
import { Pauses } from "./pauses.ts"

export interface PoolOptions {
  readonly server: CommandServer
  readonly folder: string
  readonly maxMessageBytes: number
  readonly limits: ProcessLimits
  readonly guard: Guard
  readonly capabilities: JsonObject
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly listener: Omit<ConnectionListener, "freed" | "ended">
  /** A process has ended by itself, or could not be started. */
  readonly failed: (cause: ProcessFailed) => void
}

interface Ready {
  readonly connection: Connection
  readonly session: ServerSession
  readonly sinceMs: number
}

export class Pool {
  readonly #options: PoolOptions
  readonly #pauses: Pauses
  readonly #connections = new Members<Connection>()
  #ready: Array<Ready> = []
  #waiting: Array<ProcessCall> = []
  #cancels = new WeakMap<ProcessCall, () => void>()
  #sessionWaiters: Array<(outcome: Effect.Effect<ServerSession, ProcessFailed>) => void> = []
  #endWaiters: Array<() => void> = []
  #idle = new WeakMap<Connection, NodeJS.Timeout>()
  #isStarting = false
  #closed: ProcessFailed | undefined
  #skippedLines = 0
  #retry: NodeJS.Timeout | undefined
  /** The session of the last process that was ready. */
  #session: ServerSession | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#pauses = new Pauses(options.limits)
  }

  get session(): ServerSession | undefined {
    return this.#session
  }

  get state(): PoolState {
    const connections = [...this.#connections]
    return {
      processes: connections.length,
      calls: connections.reduce((sum, { calls }) => sum + calls, 0),
      waiting: this.#waiting.length,
      failures: this.#pauses.failures,
      skippedLines: connections.reduce((sum, { skippedLines }) => sum + skippedLines, this.#skippedLines),
      pids: connections.flatMap(({ pid }) => (pid === undefined ? [] : [pid])),
      session: this.#session,
    }
  }

  /** The session; starts a process if there has been none. */
  readonly ready: Effect.Effect<ServerSession, ProcessFailed> = Effect.callback((resume) => {
    if (this.#session !== undefined) {
      resume(Effect.succeed(this.#session))
      return
    }
    if (this.#closed !== undefined) {
      resume(Effect.fail(this.#closed))
      return
    }
    this.#sessionWaiters.push(resume)
    this.#advance()
    return Effect.sync(() => {
      this.#sessionWaiters = this.#sessionWaiters.filter((each) => each !== resume)
    })
  })

  start(call: ProcessCall): void {
    const { limits, server } = this.#options
    if (this.#closed !== undefined) {
      call.broken(this.#closed)
      return
    }
    if (this.#waiting.length >= limits.maxWaiting) {
      call.broken(new ProcessFailed({ reason: "busy", message: `too many calls wait for ${server.id}` }))
      return
    }
    this.#waiting.push(call)
    this.#advance()
  }

  /** The caller has ended a call. */
  cancel(call: ProcessCall): void {
    this.#cancels.get(call)?.()
    const place = this.#waiting.indexOf(call)
    if (place !== -1) this.#waiting.splice(place, 1)
    this.#advance()
  }

  /** Forwards a notification to each process that is ready. */
  notify(json: string): void {
    for (const { connection } of this.#ready) connection.forward(json)
  }

  /** Takes no calls any more; processes end when their calls have ended. */
  retire(cause: ProcessFailed): void {
    this.#close(cause)
    for (const { connection } of this.#ready) if (connection.calls === 0) connection.end(cause)
  }

  /** Ends all processes. @returns when they have ended */
  end(cause: ProcessFailed): Effect.Effect<void> {
    return Effect.callback((resume) => {
      this.#close(cause)
      if (this.#connections.size === 0) {
        resume(Effect.void)
        return
      }
      this.#endWaiters.push(() => resume(Effect.void))
      for (const connection of this.#connections) connection.end(cause)
      return undefined
    })
  }

  #close(cause: ProcessFailed): void {
    this.#closed ??= cause
    clearTimeout(this.#retry)
    this.#breakWaiting(cause)
  }

  #breakWaiting(cause: ProcessFailed): void {
    const calls = this.#waiting
    const waiters = this.#sessionWaiters
    this.#waiting = []
    this.#sessionWaiters = []
    for (const call of calls) call.broken(cause)
    for (const waiter of waiters) waiter(Effect.fail(cause))
  }

  /** Sends calls that wait, and starts a process if one is missing. */
  #advance(): void {
    for (let ready = this.#leastBusy(); this.#waiting.length > 0 && ready !== undefined; ready = this.#leastBusy()) {
      const call = this.#waiting.shift()
      if (call !== undefined) this.#send(call, ready)
    }
    this.#watchIdle()
    const { server } = this.#options
    const isMissing =
      this.#waiting.length > 0 ||
      this.#sessionWaiters.length > 0 ||
      (this.#ready.length > 0 && this.#ready.every(({ connection }) => connection.calls > 1))
    if (
      isMissing &&
      !this.#isStarting &&
      this.#closed === undefined &&
      this.#connections.size < (server.processes ?? 1)
    ) {
      this.#startAfterPause()
    }
  }

  #leastBusy(): Ready | undefined {
    let best: Ready | undefined
    for (const each of this.#ready) {
      const { hasRoom, calls } = each.connection
      if (hasRoom && (best === undefined || calls < best.connection.calls)) best = each
    }
    return best
  }

  #send(call: ProcessCall, { connection, session }: Ready): void {
    const { method, id } = call.sent
    // The server has had its `initialize`, and takes no second one.
    if (method === "initialize" && !session.isStateless) {
      call.connected()
      call.message(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(session.result)}}`, true)
      return
    }
    this.#cancels.set(call, connection.send(call, session, this.#options.capabilities))
  }

  #startAfterPause(): void {
    const pauseMs = this.#pauses.restMs
    if (pauseMs <= 0) {
      this.#startOne()
      return
    }
    if (this.#ready.length === 0 && pauseMs > this.#options.limits.maxWaitedPauseMs) {
      this.#breakWaiting(this.#pauses.lastFailure ?? new ProcessFailed({ reason: "start", message: "it has crashed" }))
      return
    }
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#advance(), pauseMs + 1)
  }

  #startOne(): void {
    const { fork, listener, limits, capabilities } = this.#options
    this.#isStarting = true
    let member: Member<Connection> | undefined
    let early: ProcessFailed | undefined
    const ended = (cause: ProcessFailed): void => {
      early = cause
      if (member !== undefined) this.#ended(member, cause)
    }
    const connection = new Connection(this.#options, { ...listener, freed: () => this.#advance(), ended })
    member = this.#connections.add(connection)
    if (early !== undefined) {
      this.#ended(member, early)
      return
    }
    const hasInitialize = this.#session?.isStateless === false
    const handshake = negotiate(connection, { limits, capabilities, hasInitialize })
    fork(handshake).addObserver((exit) => {
      if (Exit.isSuccess(exit)) {
        this.#join(connection, exit.value)
        return
      }
      const cause = Exit.findErrorOption(exit)
      connection.kill(cause._tag === "Some" ? cause.value : closed)
    })
  }

  #join(connection: Connection, session: ServerSession): void {
    connection.session = session
    this.#isStarting = false
    if (this.#closed !== undefined) {
      connection.end(this.#closed)
      return
    }
    this.#session = session
    this.#ready.push({ connection, session, sinceMs: Date.now() })
    const waiters = this.#sessionWaiters
    this.#sessionWaiters = []
    for (const waiter of waiters) waiter(Effect.succeed(session))
    this.#advance()
  }

  #ended(member: Member<Connection>, cause: ProcessFailed): void {
    const connection = member.value
    this.#connections.remove(member)
    clearTimeout(this.#idle.get(connection))
    this.#skippedLines += connection.skippedLines
    const ready = this.#ready.find((each) => each.connection === connection)
    this.#ready = this.#ready.filter((each) => each !== ready)
    if (connection.session === undefined) this.#isStarting = false
    if (cause.reason !== "closed") this.#crashed(ready, cause)
    if (this.#connections.size === 0) for (const waiter of this.#endWaiters.splice(0)) waiter()
    if (this.#closed !== undefined) return
    if (ready === undefined && this.#ready.length === 0 && cause.reason !== "closed") this.#breakWaiting(cause)
    else this.#advance()
  }

  #crashed(ready: Ready | undefined, cause: ProcessFailed): void {
    this.#pauses.crashed(cause, ready?.sinceMs)
    // The next version of the program may have another protocol.
    if (ready === undefined) this.#session = undefined
    this.#options.failed(cause)
  }

  /** A process without calls ends after a time. */
  #watchIdle(): void {
    for (const { connection } of this.#ready) {
      const timer = this.#idle.get(connection)
      if (connection.calls > 0) {
        clearTimeout(timer)
        this.#idle.delete(connection)
      } else if (this.#closed !== undefined) {
        connection.end(closed)
      } else if (timer === undefined) {
        this.#idle.set(connection, setTimeout(() => this.#endIdle(connection), this.#options.limits.idleMs).unref())
      }
    }
  }

  #endIdle(connection: Connection): void {
    if (connection.calls > 0) return
    this.#ready = this.#ready.filter((each) => each.connection !== connection)
    connection.end(closed)
  }
}

/** The gateway has ended a process that nothing needs. */
const closed = new ProcessFailed({ reason: "closed", message: "the gateway has ended the process" })
