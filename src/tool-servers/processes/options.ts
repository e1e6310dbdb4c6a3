/** The servers that run as local processes, and the limits of their processes. */
import { Data, type Effect } from "effect"
import type { JsonObject } from "../../dialects/parse/json.ts"

/** A tool server that runs as a local process and speaks JSON-RPC over its standard streams. */
export interface CommandServer {
  readonly id: string
  /** A path, or a name that is looked up in `PATH`. */
  readonly program: string
  readonly arguments?: ReadonlyArray<string> | undefined
  /** Variables of the process, beside `PATH`, `HOME` and `LANG`. It has none of the gateway's own. */
  readonly environment?: Readonly<Record<string, string>> | undefined
  /** The largest number of processes at a time; 1 if absent. */
  readonly processes?: number | undefined
  /** The memory that a process and its children may use together; unlimited if absent, and where there is no `/proc`. */
  readonly memoryBytes?: number | undefined
}

export interface ProcessLimits {
  /** Calls at a time in one process. */
  readonly maxCalls: number
  /** Calls of a server that wait for a process. */
  readonly maxWaiting: number
  /** The time from the start of a process until its version is negotiated. */
  readonly startMs: number
  /** The time that a server may take for its answer to `server/discover` before `initialize` is tried. */
  readonly discoverMs: number
  /** A process from which nothing is read for this time after a call was cancelled is ended: it hangs. */
  readonly silentMs: number
  /** A process without calls ends after this time. */
  readonly idleMs: number
  /** The time to end after the input was closed, before SIGTERM. */
  readonly closeMs: number
  /** The time to end after SIGTERM, before SIGKILL. */
  readonly killMs: number
  /** The pause after a first crash; it doubles with each further one. */
  readonly firstPauseMs: number
  readonly maxPauseMs: number
  /** A call waits for the end of a pause that is not longer; otherwise it is broken at once. */
  readonly maxWaitedPauseMs: number
  /** A crash of a process that was ready for this time is a first one. */
  readonly stableMs: number
  /** Lines in a row that are no message, after which a process is ended. */
  readonly maxUnreadableLines: number
  /** Messages in ten seconds that belong to no call, after which a process is ended. */
  readonly maxUnasked: number
  /** The interval of the checks of memory. */
  readonly memoryCheckMs: number
  /** Lines of the error output that are logged in each minute. */
  readonly maxLoggedLines: number
}

export const defaultLimits: ProcessLimits = {
  maxCalls: 64,
  maxWaiting: 1000,
  startMs: 30_000,
  discoverMs: 5000,
  silentMs: 60_000,
  idleMs: 300_000,
  closeMs: 500,
  killMs: 2000,
  firstPauseMs: 250,
  maxPauseMs: 30_000,
  maxWaitedPauseMs: 1000,
  stableMs: 30_000,
  maxUnreadableLines: 100,
  maxUnasked: 10_000,
  memoryCheckMs: 500,
  maxLoggedLines: 100,
}

/** A request of a server to its client, such as `sampling/createMessage`. */
export interface ServerRequest {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** An answer to a {@link ServerRequest}. */
export type ServerAnswer =
  | { readonly result: JsonObject }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }

/** A notification of a server that belongs to no call. */
export interface ServerNotification {
  readonly method: string
  readonly params: JsonObject | undefined
  /** The message as the server wrote it. */
  readonly json: string
}

export interface ProcessOptions {
  readonly servers: ReadonlyArray<CommandServer>
  /** The largest message of a server, `upstreamMaxBytes`. */
  readonly maxMessageBytes: number
  /** The folder of the servers' folders; one that is removed with the scope if absent. */
  readonly folder?: string | undefined
  readonly limits?: Partial<ProcessLimits> | undefined
  /** The capabilities that servers are offered; none if absent. */
  readonly capabilities?: JsonObject | undefined
  readonly onNotification?: ((server: string, notification: ServerNotification) => void) | undefined
  /** Answers a server's request; `-32601` if absent. */
  readonly answer?: ((server: string, request: ServerRequest) => Effect.Effect<ServerAnswer>) | undefined
}

/** The outcome of a negotiation with a server. */
export interface ServerSession {
  /** The protocol version, such as `2026-07-28`. */
  readonly version: string
  /** Whether each request has its version and capabilities in `_meta`, and there was no `initialize`. */
  readonly isStateless: boolean
  readonly serverInfo: JsonObject | undefined
  readonly capabilities: JsonObject
  readonly instructions: string | undefined
  /** The result of `server/discover` or `initialize`. */
  readonly result: JsonObject
}

/** The state of a server's processes. */
export interface PoolState {
  readonly processes: number
  readonly calls: number
  readonly waiting: number
  /** Processes that have ended by themselves, or could not be started. */
  readonly failures: number
  /** Lines of the output that were no message. */
  readonly skippedLines: number
  readonly pids: ReadonlyArray<number>
  readonly session: ServerSession | undefined
}

/**
 * A process that does not serve a call.
 *
 * **Details**: `reason` is `unknown` (no such server is declared), `busy` (too many calls wait), `start` (no process could be
 * started), `ended` (the process has ended), `message` (a message is too large or unreadable) or `closed` (the gateway ends).
 */
export class ProcessFailed extends Data.TaggedError("ProcessFailed")<{
  readonly reason: "unknown" | "busy" | "start" | "ended" | "message" | "closed"
  readonly message: string
  readonly cause?: unknown
}> {}
