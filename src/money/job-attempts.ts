/**
 * Jobs that vendors are asked for, recorded before the vendor is asked: if the gateway dies before it has recorded the
 * vendor's answer, operators see that the vendor may work on a job without an owner.
 */
import { Context, Effect, Layer } from "effect"
import type { DoctorResponse } from "../protocol/control/admin.ts"
import { queryDeadline } from "../store/database.ts"
import { inThoseThatAnswer, Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { HoldFacts } from "./settlement.ts"

export class JobAttempts extends Context.Service<
  JobAttempts,
  {
    /** Records the attempt before a vendor is asked. */
    readonly begin: (hold: HoldFacts, model: string) => Effect.Effect<void, StoreUnavailable>
    /** Removes the attempt: the call has ended, and its job is recorded, or there is none. */
    readonly end: (hold: HoldFacts) => Effect.Effect<void>
    /** Attempts of dead nodes without a job, the newest first. */
    readonly lost: Effect.Effect<DoctorResponse["lostJobs"], StoreUnavailable>
  }
>()("weir/money/JobAttempts") {
  static readonly layer = Layer.effect(
    JobAttempts,
    Effect.gen(function* () {
      const shards = yield* Shards
      const bounded = yield* queryDeadline
      return JobAttempts.of({
        begin: ({ orgId, ref, node }, model) =>
          bounded(
            shards
              .of(orgId)
              .run(({ sql, books }) => sql`select ${books}job_attempt_begin(${orgId}, ${ref}, ${node}, ${model})`),
          ).pipe(Effect.asVoid),
        end: ({ orgId, ref }) =>
          bounded(shards.of(orgId).run(({ sql, books }) => sql`select ${books}job_attempt_end(${orgId}, ${ref})`)).pipe(
            Effect.catch((cause) => Effect.logWarning("The attempt of a job could not be removed", cause)),
            Effect.asVoid,
          ),
        lost: bounded(
          inThoseThatAnswer(
            shards,
            ({ sql, books }) => sql<DoctorResponse["lostJobs"][number]>`
              select org, ref, model, to_json(at) #>> '{}' as at from ${books}lost_jobs()`,
          ),
        ),
      })
    }),
  )
}
