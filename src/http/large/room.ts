/** Room in memory for the body of one request, of `SVC_LARGE_BODY_BYTES`. */
import { Effect } from "effect"
import type { ServiceError } from "../../protocol/error.ts"

export interface Room {
  /** Takes more, for a body that turns out to be larger than it said. @returns the refusal, if there is none */
  readonly grow: (bytes: number) => ServiceError<"rate_limited"> | undefined
}

/** Bytes that may be more than the body said. */
export const grown = (
  room: Room | undefined,
  bytes: Uint8Array,
): Effect.Effect<Uint8Array, ServiceError<"rate_limited">> => {
  const refused = room?.grow(bytes.length)
  return refused === undefined ? Effect.succeed(bytes) : Effect.fail(refused)
}
