/** The errors of twp/1: one closed set of codes, each with exactly one HTTP status. */
import { Data, Schema } from "effect"
import { errorCodes } from "./error-codes.ts"

export { errorCodes, errorStatus } from "./error-codes.ts"

/** The value set of `error.code`. */
export const ErrorCode = Schema.Literals(errorCodes)
export type ErrorCode = typeof ErrorCode.Type

/** Keys that an error of a certain code has. */
export const ErrorDetail = Schema.Record(Schema.String, Schema.Json)
export type ErrorDetail = typeof ErrorDetail.Type

/** The `error` object of the envelope; also the data of a `t.err` event. */
export const ErrorBody = Schema.Struct({
  code: ErrorCode,
  message: Schema.String,
  requestId: Schema.String,
  detail: Schema.optionalKey(ErrorDetail),
})
export type ErrorBody = typeof ErrorBody.Type

/** The body of every error reply of every route. */
export const ErrorEnvelope = Schema.Struct({ error: ErrorBody }).annotate({ identifier: "ErrorEnvelope" })
export type ErrorEnvelope = typeof ErrorEnvelope.Type

/**
 * A request that is refused or fails with a code of the protocol. Services fail with it; the HTTP layer turns it into the
 * envelope, or into `t.err` once a stream has started.
 */
export class ServiceError<Code extends ErrorCode = ErrorCode> extends Data.TaggedError("ServiceError")<{
  readonly code: Code
  readonly message: string
  readonly detail?: ErrorDetail | undefined
  /** Milliseconds after which a retry may succeed; sent as `Retry-After`, rounded up to seconds. */
  readonly retryAfterMs?: number | undefined
  /** Whether the same call can succeed: never, or later because every vendor is busy. If absent, the code decides. */
  readonly retry?: "never" | "later" | undefined
  /** The actual cause, for the log only; never sent to a client. */
  readonly cause?: unknown
}> {}

/** Builds a {@link ServiceError}. */
export const serviceError = <Code extends ErrorCode>(
  code: Code,
  message: string,
  more: {
    readonly detail?: ErrorDetail | undefined
    readonly retryAfterMs?: number | undefined
    readonly retry?: "never" | "later" | undefined
    readonly cause?: unknown
  } = {},
): ServiceError<Code> => new ServiceError({ code, message, ...more })

/** The `error` object for one error under one request id. */
export const errorBody = (error: ServiceError, requestId: string): ErrorBody =>
  error.detail === undefined
    ? { code: error.code, message: error.message, requestId }
    : { code: error.code, message: error.message, requestId, detail: error.detail }

export const bodyTooLarge = (maxBytes: number): ServiceError<"payload_too_large"> =>
  serviceError("payload_too_large", `The body is larger than ${maxBytes} bytes`)

/** A client that retries or reconnects reaches another node. */
export const shuttingDown = (cause?: unknown): ServiceError<"internal_error"> =>
  serviceError("internal_error", "The service is shutting down", {
    detail: { retryable: true },
    retryAfterMs: 1000,
    cause,
  })
