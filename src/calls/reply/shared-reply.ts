/** A call that gets the reply of another one: it waits until that reply begins, and forwards it as it arrives. */
import { Effect, Exit } from "effect"
import { contentBlocked } from "../../policies/review.ts"
import { type ServiceError, serviceError, shuttingDown } from "../../protocol/error.ts"
import { defaultTimeouts } from "../../protocol/timeout-tiers.ts"
import type { Flight } from "../../reply-cache/flights.ts"
import type { AdmittedCall, HeldCall } from "../held-call.ts"
import type { Task } from "../kind.ts"
import type { EndedEarly, StreamClient } from "../vendor/conversation.ts"
import { type TierTimeout, tierTimeout } from "../vendor/errors.ts"
import type { ClientReply } from "./reply.ts"

export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
export type WaitError = TierTimeout | ServiceError<"upstream_disconnected" | "internal_error">

/**
 * Waits until a reply has begun, for a stream, or is whole. Nothing is held during that time: a client that leaves pays
 * nothing.
 * @returns false if there will be no reply
 */
export const untilShared = <Body extends object>(
  admitted: AdmittedCall<Body>,
  task: Task<Body>,
  flight: Flight,
  restore: Restore,
): Effect.Effect<boolean, WaitError> => {
  const { waiting, services } = admitted
  // The call does not wait for the gateway's own stores.
  waiting.over()
  const member = services.sharing.add(admitted)
  const shared = Effect.flatMap(Effect.exit(restore(sharing(admitted, task, flight))), (exit) =>
    Exit.hasInterrupts(exit) ? Effect.fail(shuttingDown()) : exit,
  )
  return Effect.ensuring(
    shared,
    Effect.sync(() => services.sharing.remove(member)),
  )
}

const sharing = <Body extends object>(
  { services: { deadlines, nowMs }, reply }: AdmittedCall<Body>,
  task: Task<Body>,
  flight: Flight,
): Effect.Effect<boolean, WaitError> =>
  Effect.callback((resume) => {
    const isStream = task.opening !== undefined
    const [first] = task.targets
    const { total } = first === undefined ? defaultTimeouts : task.timeoutsOf(first)
    const endMs = nowMs() + total
    const stop = () => {
      unwatch()
      deadlines.remove(watch)
      reply.onGone = undefined
    }
    const end = (result: Effect.Effect<boolean, WaitError>) => {
      stop()
      resume(result)
    }
    const look = () => {
      const { state, lines } = flight
      if (state === "failed") end(Effect.succeed(false))
      else if (state === "whole" || (isStream && lines.length > 0)) end(Effect.succeed(true))
    }
    const unwatch = flight.watch(look)
    const watch = deadlines.add(
      {
        look: (now) => {
          if (endMs <= now) end(Effect.fail(tierTimeout("total", total)))
          return Math.min(endMs, isStream ? reply.beat(now) : endMs)
        },
      },
      Math.min(endMs, isStream ? reply.beat(nowMs()) : endMs),
    )
    const gone = () => end(Effect.fail(left()))
    reply.onGone = gone
    if (reply.isGone) end(Effect.fail(left()))
    else look()
    return Effect.sync(stop)
  })

/** The client of the call that runs, which does not stop the vendor by its slowness while others wait for the same reply. */
export class SharedStream<Body extends object> implements StreamClient {
  readonly #reply: ClientReply<Body>
  readonly #flight: Flight

  constructor(reply: ClientReply<Body>, flight: Flight) {
    this.#reply = reply
    this.#flight = flight
    const shared = () => reply.onRoom?.()
    flight.onShared = shared
  }

  get hasRoom(): boolean {
    return this.#reply.hasRoom
  }

  get isFull(): boolean {
    return !this.#flight.isShared && this.#reply.isFull
  }

  get onRoom(): (() => void) | undefined {
    return this.#reply.onRoom
  }

  set onRoom(told: (() => void) | undefined) {
    this.#reply.onRoom = told
  }

  stall(nowMs: number): number {
    return this.#reply.stall(nowMs)
  }
}

/** Forwards the lines of the reply as they arrive, as fast as the client takes them. */
export const follow = <Body extends object>(
  { services: { nowMs }, task: { cacheableReply }, reply, conversation, review }: HeldCall<Body>,
  flight: Flight,
): Effect.Effect<void, EndedEarly | ServiceError<"upstream_disconnected">> =>
  Effect.callback((resume) => {
    const { signal } = conversation
    let given = 0
    const stop = () => {
      unwatch()
      signal.listen(undefined)
      reply.onRoom = undefined
    }
    const end = (result: Effect.Effect<void, EndedEarly | ServiceError<"upstream_disconnected">>) => {
      stop()
      resume(result)
    }
    const give = () => {
      const { lines } = flight
      for (let line = lines[given]; line !== undefined && !reply.isFull; line = lines[given]) {
        conversation.opened = true
        cacheableReply?.recall(line, given++ === 0)
        if (review?.denial !== undefined) return end(Effect.fail(contentBlocked(review.denial)))
      }
      if (given < lines.length) conversation.lookBy(reply.stall(nowMs()))
      else if (flight.state === "whole") end(Effect.void)
      else if (flight.state === "failed") end(Effect.fail(brokenOff()))
    }
    const unwatch = flight.watch(give)
    reply.onRoom = give
    signal.listen((reason) => end(Effect.fail(reason)))
    if (signal.reason === undefined) give()
    return Effect.sync(stop)
  })

const left = () => serviceError("upstream_disconnected", "The client left")

const brokenOff = () =>
  serviceError("upstream_disconnected", "The call that made this reply broke off; the request can be sent again", {
    detail: { retryable: true },
    retryAfterMs: 1000,
  })
