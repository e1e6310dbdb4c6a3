/** A store that did not answer, or not in time; clients get `internal_error`, retryable. */
import { Data } from "effect"
import { type ServiceError, serviceError } from "../protocol/error.ts"

export class StoreUnavailable extends Data.TaggedError("StoreUnavailable")<{
  readonly store: "postgres" | "redis" | "files"
  readonly cause: unknown
  /** False if nothing was done: the store was not asked at all, or did not get a lock. Otherwise that is not known. */
  readonly wasDone?: false
}> {}

const retryAfterMs = 1000

/** A failed store is never reported as an authentication error or a refusal. */
const storeFailure = (error: StoreUnavailable): ServiceError<"internal_error"> =>
  serviceError("internal_error", "The service could not complete the request", {
    detail: { retryable: true },
    retryAfterMs,
    cause: error,
  })

/** The error that a client receives. */
export const toServiceError = (error: ServiceError | StoreUnavailable): ServiceError =>
  error instanceof StoreUnavailable ? storeFailure(error) : error
