/** The price of a request of a batch: a node that has no time for it now is asked again. */
import { Effect } from "effect"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { LineCalls, LinePrice, LineReply, LineRequest } from "./line-calls.ts"
import { laterOf } from "./line-outcome.ts"

const longestWaitMs = 20_000

/**
 * The price, or the refusal that will be the answer: a request without a price has nothing held.
 * @error rate_limited if it cannot be priced now
 */
export const priceLine = Effect.fnUntraced(function* (
  calls: Pick<LineCalls["Service"], "price">,
  line: LineRequest,
): Effect.fn.Return<LinePrice | LineReply, ServiceError> {
  for (let waitedMs = 0; ; ) {
    const priced = yield* calls.price(line)
    if (!("status" in priced)) return priced
    const { isAnswered, pauseMs } = laterOf(priced, 0)
    if (isAnswered) return priced
    waitedMs += pauseMs
    if (waitedMs > longestWaitMs) return yield* notNow
    yield* Effect.sleep(pauseMs)
  }
})

const notNow = serviceError("rate_limited", "The requests of the batch cannot be priced now", { retryAfterMs: 5000 })
