/**
 * Safety review: requests are denied before a hold is made, whole replies are withheld, and finished streams are
 * sampled. Texts are never logged.
 */
import { Context, Effect, FiberSet, Layer } from "effect"
import { WeirConfig } from "../config.ts"
import type { HoldError } from "../money/ledger.ts"
import type { PolicyHit } from "../protocol/control/usage-record.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { recordReview } from "../telemetry/metrics.ts"
import type { EngineFailed } from "./engines/engine.ts"
import type { EngineAccount } from "./engines/engine-price.ts"
import { logNoVerdict, PolicyEngines, type Reviewed } from "./engines/engines.ts"
import { readOnce, type TextOfParts } from "./parts.ts"
import type { EngineCheck, ReviewPolicy, RuleCheck } from "./policy.ts"
import type { RuleSet } from "./text/rules.ts"
import { foundIn, TextWindow } from "./text/window.ts"

/** A policy denied a text. */
export interface Denial {
  readonly policy: string
  readonly reason: string
}

export type { PolicyHit }

export interface Verdict {
  readonly denial: Denial | undefined
  readonly hits: ReadonlyArray<PolicyHit>
  /** The reason why an engine's price could not be held for a request, which is refused with it. */
  readonly refusal?: HoldError | undefined
}

/** The circumstances of a review by engines. */
export interface ReviewAbout {
  /** The account that their prices are charged to. */
  readonly account: EngineAccount | undefined
  /** The end of the request's text, for engines that read it beside a reply. */
  earlier: string | undefined
}

export class Review extends Context.Service<
  Review,
  {
    /** The first denial, in the order of the policies. @param read evaluated only if there is a policy */
    readonly judge: (
      policies: ReadonlyArray<ReviewPolicy>,
      at: PolicyHit["at"],
      read: TextOfParts,
      about?: ReviewAbout,
    ) => Effect.Effect<Verdict>
    /** Reviews a finished stream in the background, at the sample rate; denials are counted and logged. */
    readonly sample: (
      policies: ReadonlyArray<ReviewPolicy>,
      read: TextOfParts,
      about?: ReviewAbout,
    ) => Effect.Effect<void>
  }
>()("weir/policies/Review") {
  static readonly layer = Layer.effect(
    Review,
    Effect.gen(function* () {
      const { reviewStreamRate } = yield* WeirConfig
      const engines = yield* PolicyEngines
      const services = yield* Effect.context<never>()
      const running = yield* FiberSet.make<void>()

      const judge = Effect.fnUntraced(function* (
        policies: ReadonlyArray<ReviewPolicy>,
        at: PolicyHit["at"],
        read: TextOfParts,
        about: ReviewAbout | undefined,
      ): Effect.fn.Return<Verdict> {
        const hits: Array<PolicyHit> = []
        const textOf = readOnce(read)
        const common = {
          direction: directionOf[at],
          earlier: at === "reply" ? about?.earlier : undefined,
          account: about?.account,
        }
        for (const policy of policies) {
          const { id, check, action, onFailure, parts } = policy
          const text = yield* textOf(parts, check.kind === "rules" ? "rules" : "engine")
          const found =
            check.kind === "rules" ? yield* countMatches(check, text) : yield* ask(policy, check, { ...common, text })
          if (found === 0) continue
          if (typeof found !== "number") {
            const { refusal } = found
            hits.push({ policy: id, at, count: 0, did: "failed" })
            if (refusal !== undefined && at === "request") return { denial: undefined, hits, refusal }
            // Without a verdict nothing can be masked either. Nobody gets past a policy for want of money.
            const isStrict = onFailure === "deny" || refusal !== undefined
            if (isStrict && (action === "deny" || action === "mask"))
              return { denial: { policy: id, reason: unavailable }, hits }
            continue
          }
          hits.push({ policy: id, at, count: found, did: didBy[action] })
          if (action === "deny") return { denial: { policy: id, reason: policy.reason }, hits }
          // Matching a long text takes time: yield between policies.
          yield* Effect.yieldNow
        }
        return { denial: undefined, hits }
      })

      /** The number of findings of an engine; of one that knows no places, 1 if it flags the text. */
      const ask = ({ id, onFailure }: ReviewPolicy, check: EngineCheck, reviewed: Reviewed) =>
        engines.review({ id, check }, reviewed).pipe(
          Effect.map(({ isFlagged, spans }): number | EngineFailed => (isFlagged ? Math.max(1, spans.length) : 0)),
          Effect.catch((failure) =>
            logNoVerdict({ id, onFailure }, failure).pipe(
              Effect.tap(() => Effect.sync(() => recordReview(services, "review", "failed"))),
              Effect.as(failure),
            ),
          ),
        )

      const report =
        (mode: "review" | "sample") =>
        ({ denial, refusal }: Verdict) =>
          Effect.suspend(() => {
            // A text that is refused was not allowed: its engine's failure is counted.
            if (refusal !== undefined) return Effect.void
            recordReview(services, mode, denial === undefined ? "allowed" : "denied")
            return denial === undefined
              ? Effect.void
              : Effect.logWarning("A content policy denied a text", { mode, ...denial })
          })

      return Review.of({
        judge: (policies, at, read, about) =>
          policies.length === 0
            ? Effect.succeed(nothingFound)
            : Effect.tap(judge(policies, at, read, about), report("review")),
        sample: (policies, read, about) =>
          Effect.suspend(() => {
            if (policies.length === 0 || Math.random() >= reviewStreamRate) return Effect.void
            return Effect.flatMap(FiberSet.size(running), (busy) => {
              if (busy >= maxSamples) return Effect.sync(() => recordReview(services, "sample", "dropped"))
              const judged = Effect.flatMap(judge(policies, "reply", read, about), report("sample"))
              return Effect.asVoid(FiberSet.run(running, judged))
            })
          }),
      })
    }),
  )
}

const directionOf = { request: "inbound", reply: "outbound" } as const

/** No policy has found anything. */
export const nothingFound: Verdict = { denial: undefined, hits: [] }

const didBy = { deny: "denied", mask: "masked", flag: "flagged", shadow: "shadow" } as const

/** Characters that are matched in one turn. */
const partLength = 16 * 1024

/** The number of matches in a text; a long one is matched in parts, so that streams go on in between. */
export const countMatches = ({ set }: RuleCheck, text: string): Effect.Effect<number> =>
  text.length > partLength ? countInParts(set, text) : Effect.sync(() => foundIn(set, [text]).length)

const countInParts = Effect.fnUntraced(function* (set: RuleSet, text: string): Effect.fn.Return<number> {
  const window = new TextWindow(set)
  let count = 0
  for (let at = 0; at < text.length; at += partLength) {
    if (at > 0) yield* Effect.yieldNow
    window.push(text.slice(at, at + partLength))
    count += window.found.length
  }
  window.end()
  return count + window.found.length
})

/** The error of a denial. */
export const contentBlocked = ({ reason }: Denial): ServiceError<"content_blocked"> =>
  serviceError("content_blocked", "A safety policy denied the content", { detail: { reason } })

/** The reason if a required endpoint does not answer. */
export const unavailable = "review_unavailable"

/** Maximum concurrent samples; further ones are dropped and counted, so that a slow endpoint blocks nothing. */
const maxSamples = 64
