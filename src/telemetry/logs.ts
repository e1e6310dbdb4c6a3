/** What operators read: structured logs, which never hold a prompt or a secret. */
import { Effect, Layer, Logger, type LogLevel, References } from "effect"

/** JSON lines on standard output; people at a terminal get a readable form. */
export const layerLogs = (level: LogLevel.LogLevel, readable: boolean): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([readable ? Logger.consolePretty() : Logger.consoleJson]),
    Layer.succeed(References.MinimumLogLevel, level),
  )

/** Logs under one request id. */
export const withRequestId = (requestId: string) => Effect.annotateLogs({ requestId })
