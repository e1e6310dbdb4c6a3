/**
 * The mailbox of a session: each step that concerns money or limits is a job, and jobs run one after the other until the
 * session ends.
 */
import { Effect, Queue } from "effect"
import type { ClosingCode } from "../../protocol/closing-code.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"

export type Job = Effect.Effect<void>

/** The end of a session. */
export interface Ending {
  /** The reason why the usage of the running response is estimated. */
  readonly reason: EstimatedReason
  readonly code: ClosingCode
  readonly error?: ServiceError
}

export class Mailbox {
  readonly #jobs: Queue.Queue<Job>
  #ending: Ending | undefined
  /** Whether the session takes no new responses, and ends when the running ones have ended. */
  isDraining = false

  constructor(jobs: Queue.Queue<Job>) {
    this.#jobs = jobs
  }

  /** Undefined while the session goes on. */
  get ending(): Ending | undefined {
    return this.#ending
  }

  add(job: Job): void {
    Queue.offerUnsafe(this.#jobs, job)
  }

  /** Ends the session; only the first reason counts. */
  end(ending: Ending): void {
    if (this.#ending !== undefined) return
    this.#ending = ending
    this.add(Effect.void)
  }

  /** Runs jobs until the session ends. @param restore makes waiting for the next one interruptible */
  run(restore: (job: Effect.Effect<Job>) => Effect.Effect<Job>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      while (this.#ending === undefined) yield* yield* restore(Queue.take(this.#jobs))
    })
  }

  /** Runs the jobs that are left. */
  get rest(): Effect.Effect<void> {
    return Effect.flatMap(Queue.clear(this.#jobs), (left) => Effect.forEach(left, (job) => job, { discard: true }))
  }
}
