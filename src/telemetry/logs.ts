/** Logs for operators, on standard output. They never contain prompts or secrets. */
import { Effect, Layer, Logger, References } from "effect"
import { WeirConfig } from "../config.ts"
import { jsonLine, logRecord, prettyLine } from "./log-record.ts"

/** Lines for people, or of JSON (`SVC_LOG_FORMAT`); the same whether a terminal is attached or not, but for colours. */
export const layerLogs: Layer.Layer<never, never, WeirConfig> = Layer.unwrap(
  Effect.map(WeirConfig, ({ logLevel, logFormat }) => {
    const isColoured = process.stdout.isTTY === true && process.stdout.hasColors()
    const line = Logger.make((entry) => {
      const record = logRecord(entry)
      return logFormat === "json" ? jsonLine(record) : prettyLine(record, isColoured)
    })
    return Layer.mergeAll(
      Logger.layer([Logger.withConsoleLog(line)]),
      Layer.succeed(References.MinimumLogLevel, logLevel),
    )
  }),
)

/** Adds the request id to log entries. */
export const withRequestId = (requestId: string) => Effect.annotateLogs({ requestId })

/** Logs the cause of an error reply, which its client does not see. */
export const logCause = ({ cause }: { readonly cause?: unknown }, requestId: string): Effect.Effect<void> =>
  cause === undefined ? Effect.void : Effect.logError("Request failed", cause).pipe(withRequestId(requestId))
