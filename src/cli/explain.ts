/** Errors of the start, each in one line with its remedy. Unexpected errors are shown with their cause. */
import { Cause, Config, Effect, Schema } from "effect"
import { HttpServerError } from "effect/http"
import { SqlError } from "effect/sql"
import { CatalogueRefused, describeRefusal } from "../catalogue/refusal.ts"
import { unknownVariables, variableNames } from "../config.ts"
import { DirectoryUnusable } from "../files/directory.ts"
import { issuesOf } from "../protocol/json/issues.ts"
import { didYouMean } from "../protocol/values/nearest-name.ts"
import { SchemaMismatch } from "../store/schema-state.ts"
import { StoreUnavailable } from "../store/unavailable.ts"
import { WorkersFailed } from "../workers/failed.ts"
import { Failed } from "./target.ts"

export const explain = (cause: Cause.Cause<unknown>): string => explainError(Cause.squash(cause)) ?? Cause.pretty(cause)

/** The gateway's own error if it refused the command, else the message. */
export const explainJson = (cause: Cause.Cause<unknown>): object => {
  const error = Cause.squash(cause)
  const refusal = error instanceof Failed ? error.refusal : undefined
  return refusal ?? { message: explain(cause) }
}

/** Undefined for an error that an operator cannot fix. */
export const explainError = (error: unknown): string | undefined => {
  if (error instanceof Failed || error instanceof WorkersFailed || error instanceof SchemaMismatch) return error.message
  if (error instanceof CatalogueRefused) return describeRefusal(process.env["SVC_CATALOGUE"] ?? "catalogue", error)
  if (error instanceof StoreUnavailable) return explainStore(error.store, error.cause)
  if (SqlError.isSqlError(error)) return explainStore("postgres", error)
  if (error instanceof HttpServerError.ServeError) return explainListen(error.cause)
  if (error instanceof Config.ConfigError) return explainConfig(error)
  // The key itself is not repeated: output ends in logs.
  if (codeOf(error) === "ERR_INVALID_CHAR") return "The key has a character that no HTTP header can have"
  return explainFolder(error)
}

const folderRemedy = "make room there, or set SVC_DATA_DIR to a directory that this user can write to"
const folderCodes = new Set(["EACCES", "EROFS", "ENOTDIR", "ENOSPC", "EPERM", "EEXIST"])

const explainFolder = (error: unknown): string | undefined => {
  if (error instanceof DirectoryUnusable) return `${error.message}; ${folderRemedy}`
  const code = codeOf(error)
  return code !== undefined && folderCodes.has(code)
    ? `The data directory cannot be used: ${reasonOf(error)}; ${folderRemedy}`
    : undefined
}

const explainStore = (store: StoreUnavailable["store"], cause: unknown): string => {
  const reason = reasonOf(cause)
  // The embedded database's message contains its remedy.
  if (reason.includes("SVC_DATA_DIR")) return reason
  const folder = explainFolder(cause)
  if (folder !== undefined) return folder
  const remedy =
    store === "postgres"
      ? "start it or correct SVC_DATABASE_URL (without it, an embedded one is used)"
      : "start it or correct SVC_REDIS_URL (without it, a single node keeps its state in memory)"
  return `${store} cannot be reached: ${reason}; ${remedy}`
}

const explainListen = (cause: unknown): string => {
  if (codeOf(cause) === "EADDRINUSE") {
    return `Weir cannot listen: ${reasonOf(cause)}; stop what listens there, or set SVC_PORT to another port (0 takes a free one)`
  }
  return `Weir cannot listen: ${reasonOf(cause)}; correct SVC_HOST or SVC_PORT`
}

const explainConfig = (error: Config.ConfigError): string =>
  `${describeRefusedVariable(error)}; weir config prints the meaning of each variable`

/** A line for each refused variable, with the reason. */
export const describeRefusedVariable = ({ cause }: Config.ConfigError): string => {
  if (!Schema.isSchemaError(cause)) return cause.message
  return issuesOf(cause, process.env)
    .map(({ path, message }) => `${path === "" ? "A variable" : path} is invalid: ${message.replace(/\s+/g, " ")}`)
    .join("\n")
}

const codeOf = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined

/** The message of the innermost cause: the outer ones only say that something failed. */
const reasonOf = (error: unknown): string => {
  let innermost = error
  for (let depth = 0; depth < 8; depth++) {
    if (typeof innermost !== "object" || innermost === null) break
    const next = "reason" in innermost && typeof innermost.reason === "object" ? innermost.reason : undefined
    const deeper = next ?? ("cause" in innermost ? innermost.cause : undefined)
    if (deeper === undefined || deeper === null) break
    innermost = deeper
  }
  if (innermost instanceof AggregateError) innermost = innermost.errors.at(-1)
  return innermost instanceof Error && innermost.message !== "" ? innermost.message : String(innermost)
}

/** A line for each variable that has no effect because Weir does not know it. */
export const describeUnknownVariables: Effect.Effect<ReadonlyArray<string>> = Effect.map(variableNames, (known) =>
  unknownVariables(known).map((name) => `${name} is not a variable of Weir${didYouMean(name, known)}`),
)
