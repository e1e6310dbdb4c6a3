/** A review that objects to nothing, for tests that are about something else. */
import { Effect, Layer } from "effect"
import { Review } from "../review/review.ts"

export const layerNoReview: Layer.Layer<Review> = Layer.succeed(
  Review,
  Review.of({ judge: () => Effect.undefined, sample: () => Effect.void }),
)
