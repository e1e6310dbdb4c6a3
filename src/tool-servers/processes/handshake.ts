/**
 * Negotiates the protocol version with a process: `server/discover` first; if the answer is an error, or none comes in time,
 * `initialize`. An answer to `server/discover` that comes late is still taken.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility
 */
import { Effect, Fiber, Option, Result } from "effect"
import { type JsonObject, numberAt, objectAt, stringAt } from "../../dialects/parse/json.ts"
import type { Connection } from "./connection.ts"
import { clientInfo, metaOf, serverInfoOf, statelessVersion } from "./messages.ts"
import { ProcessFailed, type ProcessLimits, type ServerSession } from "./options.ts"

/** Versions with `initialize`; the first one is asked for. */
const sessionVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
const unsupportedVersion = -32022

export interface HandshakeOptions {
  readonly limits: Pick<ProcessLimits, "startMs" | "discoverMs">
  readonly capabilities: JsonObject
  /** Whether an earlier process of the server has had `initialize`. */
  readonly hasInitialize: boolean
}

export const negotiate = (
  connection: Connection,
  { limits, capabilities, hasInitialize }: HandshakeOptions,
): Effect.Effect<ServerSession, ProcessFailed> => {
  const initialized = initialize(connection, capabilities)
  return Effect.timeoutOrElse(
    hasInitialize
      ? initialized
      : Effect.scoped(discoverFirst(connection, capabilities, limits.discoverMs, initialized)),
    {
      duration: limits.startMs,
      orElse: () => Effect.fail(failed("it has not negotiated a protocol version in time")),
    },
  )
}

const discoverFirst = Effect.fnUntraced(function* (
  connection: Connection,
  capabilities: JsonObject,
  discoverMs: number,
  initialized: Effect.Effect<ServerSession, ProcessFailed>,
) {
  // It fails with `isOlder` when only `initialize` can help.
  const discovering = yield* Effect.forkScoped(
    Effect.flatMap(connection.ask("server/discover", { _meta: metaOf(statelessVersion, capabilities) }), outcomeOf),
  )
  const early = yield* Effect.timeoutOption(Effect.result(Fiber.join(discovering)), discoverMs)
  if (Option.isNone(early)) {
    const late = Effect.catch(Fiber.join(discovering), (failure) =>
      failure === isOlder ? Effect.never : Effect.fail(failure),
    )
    return yield* Effect.raceFirst(late, initialized)
  }
  if (Result.isSuccess(early.value)) return early.value.success
  const { failure } = early.value
  return failure === isOlder ? yield* initialized : yield* Effect.fail(failure)
})

/** The server has sessions only. */
const isOlder = "older"

const outcomeOf = (answer: JsonObject): Effect.Effect<ServerSession, ProcessFailed | typeof isOlder> => {
  const result = objectAt(answer, "result")
  const error = objectAt(answer, "error")
  const supported = result?.["supportedVersions"] ?? objectAt(error, "data")?.["supported"]
  const versions: ReadonlyArray<unknown> = Array.isArray(supported) ? supported : []
  if (result !== undefined && versions.includes(statelessVersion)) {
    return Effect.succeed(
      sessionOf(result, { version: statelessVersion, isStateless: true, serverInfo: serverInfoOf(result) }),
    )
  }
  const isNewer = result !== undefined || numberAt(error, "code") === unsupportedVersion
  // Versions that are named are the ones that it has.
  if (isNewer && versions.length > 0 && !sessionVersions.some((version) => versions.includes(version))) {
    return Effect.fail(failed("it has no protocol version that the gateway has"))
  }
  return Effect.fail(isOlder)
}

const initialize = (connection: Connection, capabilities: JsonObject): Effect.Effect<ServerSession, ProcessFailed> =>
  Effect.flatMap(
    connection.ask("initialize", { protocolVersion: sessionVersions[0], capabilities, clientInfo }),
    (answer) => {
      const result = objectAt(answer, "result")
      const version = stringAt(result, "protocolVersion")
      if (result === undefined || version === undefined) return Effect.fail(failed("it has refused `initialize`"))
      if (!sessionVersions.includes(version))
        return Effect.fail(failed("it has no protocol version that the gateway has"))
      connection.notify("notifications/initialized")
      const serverInfo = objectAt(result, "serverInfo")
      return Effect.succeed(sessionOf(result, { version, isStateless: false, serverInfo }))
    },
  )

const sessionOf = (
  result: JsonObject,
  known: Pick<ServerSession, "version" | "isStateless" | "serverInfo">,
): ServerSession => ({
  ...known,
  capabilities: objectAt(result, "capabilities") ?? {},
  instructions: stringAt(result, "instructions"),
  result,
})

const failed = (message: string): ProcessFailed => new ProcessFailed({ reason: "start", message })
