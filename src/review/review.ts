/**
 * Safety review: requests are denied before a hold is made, whole replies are withheld, and finished streams are
 * sampled. Texts are never logged.
 */
import { Context, Effect, FiberSet, Layer } from "effect"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { recordReview } from "../telemetry/metrics.ts"
import { ModerationEngine } from "./moderation.ts"
import type { ReviewPolicy, RuleCheck } from "./policy.ts"

/** A policy denied a text. */
export interface Denial {
  readonly policy: string
  readonly reason: string
}

export class Review extends Context.Service<
  Review,
  {
    /** The first denial, in the order of the policies. @param text evaluated only if there is a policy */
    readonly judge: (policies: ReadonlyArray<ReviewPolicy>, text: () => string) => Effect.Effect<Denial | undefined>
    /** Reviews a finished stream in the background, at the sample rate; denials are counted and logged. */
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

      /** The reason of a denial; undefined if the policy allows the text. */
      const objection = ({ id, reason, check }: ReviewPolicy, text: string): Effect.Effect<string | undefined> => {
        if (check.kind === "rule") return Effect.map(matchInParts(check, text), (found) => (found ? reason : undefined))
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
          // Matching a long text takes time: yield between policies.
          yield* Effect.yieldNow
        }
        return undefined
      })

      const report = (mode: "review" | "sample") => (denial: Denial | undefined) =>
        Effect.suspend(() => {
          recordReview(services, mode, denial === undefined ? "allowed" : "denied")
          return denial === undefined
            ? Effect.void
            : Effect.logWarning("A safety policy denied a text", { mode, ...denial })
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

/** Characters that are matched in one turn: a character of text may be folded to eighteen. */
const partLength = 32 * 1024

/** Matches a text, and a long one in parts that overlap by a match, so that streams go on in between. */
export const matchInParts = ({ matches, maxMatchLength }: RuleCheck, text: string): Effect.Effect<boolean> => {
  if (maxMatchLength === undefined || text.length <= partLength) return Effect.sync(() => matches(text))
  return Effect.gen(function* () {
    for (let at = 0; at < text.length; at += partLength) {
      if (matches(text.slice(at, at + partLength + maxMatchLength))) return true
      yield* Effect.yieldNow
    }
    return false
  })
}

/** The error of a denial. */
export const contentBlocked = ({ reason }: Denial): ServiceError<"content_blocked"> =>
  serviceError("content_blocked", "A safety policy denied the content", { detail: { reason } })

/** The reason if a required endpoint does not answer. */
const unavailable = "review_unavailable"

/** Maximum concurrent samples; further ones are dropped and counted, so that a slow endpoint blocks nothing. */
const maxSamples = 64
