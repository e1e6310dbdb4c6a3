/**
 * Ends running calls when their credential is revoked: with `SVC_REVOKED_GRACE_MS`, streams, results, sockets and realtime
 * sessions end within that time, and their usage is billed. A token that expires, or a store that does not answer, ends
 * nothing.
 */
import { Effect, Stream } from "effect"
import { makeForkIn } from "../collections.ts"
import { WeirConfig } from "../config.ts"
import { closing } from "../protocol/closing-code.ts"
import { serviceError } from "../protocol/error.ts"
import type { RouteError } from "./respond.ts"
import type { ClientSocket } from "./sockets/client-socket.ts"

/** Reads the caller as it is now. */
type Again = Effect.Effect<unknown, RouteError>

export const makeRevocation = Effect.gen(function* () {
  const { revokedGraceMs } = yield* WeirConfig
  const forkIn = yield* makeForkIn
  // Two checks in the time: the second is early enough for any time of the revocation.
  const pauseMs = (revokedGraceMs ?? 0) / 2

  /** Succeeds when the credential is not valid any more, or when there is nothing left to end. */
  const revoked = (again: Again, isOver: () => boolean): Effect.Effect<void> =>
    Effect.gen(function* () {
      while (true) {
        yield* Effect.sleep(pauseMs)
        if (isOver() || (yield* Effect.match(again, { onSuccess: () => false, onFailure: isRevoked }))) return
      }
    })

  return {
    /**
     * Runs until the end, or until the credential is revoked.
     * @param again identifies the caller again; only called if operators want the check
     */
    whileValid: <A, E, R>(again: () => Again, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      revokedGraceMs === undefined
        ? work
        : Effect.raceFirst(
            work,
            Effect.andThen(
              revoked(again(), () => false),
              Effect.interrupt,
            ),
          ),

    /** The same for a body that is sent after its head. It then fails, because the body must not look complete. */
    streamWhileValid: <A, E, R>(again: () => Again, stream: Stream.Stream<A, E, R>) =>
      revokedGraceMs === undefined
        ? stream
        : Stream.interruptWhen(
            stream,
            Effect.andThen(
              revoked(again(), () => false),
              Effect.fail(serviceError("unauthorized", "The credential is not valid any more")),
            ),
          ),

    /** Closes a socket when the credential is revoked, which ends the calls that run on it. */
    watch: (again: Again, socket: ClientSocket): void => {
      if (revokedGraceMs === undefined) return
      const end = Effect.sync(() => socket.close(closing.policy, "the credential is not valid any more"))
      forkIn(
        Effect.andThen(
          revoked(again, () => socket.isClosed),
          end,
        ),
      )
    },
  }
})

const isRevoked = (error: RouteError): boolean => error._tag === "ServiceError" && error.code !== "token_expired"
