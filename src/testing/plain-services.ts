/** What an exchange needs beside the parts that a test is about: no safety policies, no keys of organisations, healthy targets. */
import { Effect, Layer } from "effect"
import { Tokenizer } from "../exchange/tokenizer.ts"
import { Review } from "../review/review.ts"
import { layerTargetHealth, type TargetHealth } from "../vendor/health.ts"
import { UpstreamKeys } from "../vendor/upstream-keys.ts"

const noReview = Layer.succeed(Review, Review.of({ judge: () => Effect.undefined, sample: () => Effect.void }))

const noUpstreamKeys = Layer.succeed(
  UpstreamKeys,
  UpstreamKeys.of({
    of: () => undefined,
    set: () => Effect.void,
    list: () => Effect.succeed([]),
    remove: () => Effect.succeed(false),
  }),
)

export const layerPlainServices: Layer.Layer<Review | UpstreamKeys | TargetHealth | Tokenizer> = Layer.mergeAll(
  noReview,
  noUpstreamKeys,
  layerTargetHealth,
  Tokenizer.layerBytes,
)
