/** Structured logs for operators. They never contain prompts or secrets. */
import { Effect, Layer, Logger, References } from "effect"
import { WeirConfig } from "../config.ts"

/** JSON lines on standard output; a readable form where it is a terminal. */
export const layerLogs: Layer.Layer<never, never, WeirConfig> = Layer.unwrap(
  Effect.map(WeirConfig, ({ logLevel }) =>
    Layer.mergeAll(
      Logger.layer([process.stdout.isTTY === true ? Logger.consolePretty() : Logger.consoleJson]),
      Layer.succeed(References.MinimumLogLevel, logLevel),
    ),
  ),
)

/** Adds the request id to log entries. */
export const withRequestId = (requestId: string) => Effect.annotateLogs({ requestId })

/** Logs the cause of an error reply, which its client does not see. */
export const logCause = ({ cause }: { readonly cause?: unknown }, requestId: string): Effect.Effect<void> =>
  cause === undefined ? Effect.void : Effect.logError("Request failed", cause).pipe(withRequestId(requestId))
