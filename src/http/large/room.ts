/** Room in memory for the body of one request, of `SVC_LARGE_BODY_BYTES`. */
import { Effect } from "effect"
import type { ServiceError } from "../../protocol/error.ts"

export interface Room {
  /**
   * Takes more, for a body that is larger than declared.
   * @returns the refusal, if there is none
   */
  readonly grow: (bytes: number) => ServiceError<"rate_limited"> | undefined
}

/** Takes bytes beyond the declared length. */
export const grown = (
  room: Room | undefined,
  bytes: Uint8Array,
): Effect.Effect<Uint8Array, ServiceError<"rate_limited">> => {
  const refused = room?.grow(bytes.length)
  return refused === undefined ? Effect.succeed(bytes) : Effect.fail(refused)
}
