/** A store that did not answer in time or at all; told to clients as `internal_error`, retryable. */
import { Data } from "effect"
import { type ServiceError, serviceError } from "../protocol/error.ts"

export class StoreUnavailable extends Data.TaggedError("StoreUnavailable")<{
  readonly store: "postgres" | "redis"
  readonly cause: unknown
}> {}

const retryAfterMs = 1000

/** A store's failure is never the caller's fault: not an authentication error, not a refusal. */
const storeFailure = (error: StoreUnavailable): ServiceError<"internal_error"> =>
  serviceError("internal_error", "The service could not complete the request", {
    detail: { retryable: true },
    retryAfterMs,
    cause: error,
  })

/** What a client is told of a failure, whichever it is. */
export const toServiceError = (error: ServiceError | StoreUnavailable): ServiceError =>
  error instanceof StoreUnavailable ? storeFailure(error) : error
