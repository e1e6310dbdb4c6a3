/**
 * Safety review: what goes in is denied before any money is held, what comes out whole is withheld, and streams are
 * sampled when they are over. Nothing of a text goes to a log. Source: interface.md exchange rule 5.
 */
import { Context, Effect, FiberSet, Layer } from "effect"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { recordReview } from "../telemetry/metrics.ts"
import { ModerationEngine } from "./moderation.ts"
import type { ReviewPolicy } from "./policy.ts"

/** A policy objects. */
export interface Denial {
  readonly policy: string
  readonly reason: string
}

export class Review extends Context.Service<
  Review,
  {
    /** The first objection of any policy; policies are asked in their order. @param text made only if it is needed */
    readonly judge: (policies: ReadonlyArray<ReviewPolicy>, text: () => string) => Effect.Effect<Denial | undefined>
    /** Reviews a finished stream in the background, as often as the sample rate says; objections are counted and logged. */
    readonly sample: (policies: ReadonlyArray<ReviewPolicy>, text: () => string) => Effect.Effect<void>
  }
>()("weir/review/Review") {
  static readonly layer = Layer.effect(
    Review,
    Effect.gen(function* () {
      const { reviewStreamRate } = yield* WeirConfig
      const moderation = yield* ModerationEngine
      const services = yield* Effect.context<never>()
      const running = yield* FiberSet.make<void>()

      /** The reason of a denial; undefined where the policy has no objection. */
      const objection = ({ id, reason, check }: ReviewPolicy, text: string): Effect.Effect<string | undefined> => {
        if (check.kind === "rule") return Effect.sync(() => (check.matches(text) ? reason : undefined))
        return moderation.flags(check, text).pipe(
          Effect.map((flagged) => (flagged ? reason : undefined)),
          Effect.catch((error) =>
            Effect.logWarning(
              "A moderation endpoint did not answer",
              { policy: id, onFailure: check.onFailure },
              error,
            ).pipe(
              Effect.tap(() => Effect.sync(() => recordReview(services, "review", "failed"))),
              Effect.as(check.onFailure === "deny" ? unavailable : undefined),
            ),
          ),
        )
      }

      const judge = Effect.fnUntraced(function* (
        policies: ReadonlyArray<ReviewPolicy>,
        text: string,
      ): Effect.fn.Return<Denial | undefined> {
        for (const policy of policies) {
          const reason = yield* objection(policy, text)
          if (reason !== undefined) return { policy: policy.id, reason }
          // A long text takes a while: others get their turn between policies.
          yield* Effect.yieldNow
        }
        return undefined
      })

      const report = (mode: "review" | "sample") => (denial: Denial | undefined) =>
        Effect.suspend(() => {
          recordReview(services, mode, denial === undefined ? "allowed" : "denied")
          return denial === undefined ? Effect.void : Effect.logWarning("A safety policy objects", { mode, ...denial })
        })

      return Review.of({
        judge: (policies, text) =>
          policies.length === 0
            ? Effect.undefined
            : Effect.suspend(() => Effect.tap(judge(policies, text()), report("review"))),
        sample: (policies, text) =>
          Effect.suspend(() => {
            if (policies.length === 0 || Math.random() >= reviewStreamRate) return Effect.void
            return Effect.flatMap(FiberSet.size(running), (busy) => {
              if (busy >= maxSamples) return Effect.sync(() => recordReview(services, "sample", "dropped"))
              return Effect.asVoid(FiberSet.run(running, Effect.flatMap(judge(policies, text()), report("sample"))))
            })
          }),
      })
    }),
  )
}

/** What a client is told of a denial. */
export const contentBlocked = ({ reason }: Denial): ServiceError<"content_blocked"> =>
  serviceError("content_blocked", "A safety policy does not let this pass", { detail: { reason } })

/** What a client is told where an endpoint that must agree does not answer. */
const unavailable = "review_unavailable"

/** Samples at a time; more are left out and counted, so that a slow endpoint holds nothing up. */
const maxSamples = 64
