/** Runs an exchange that came to a hot route, in the words of any API. */
import { Effect, Result } from "effect"
import { Overload } from "../admission/overload.ts"
import { Exchanges } from "../exchange/exchanges.ts"
import type { ExchangeCall } from "../exchange/held-exchange.ts"
import type { Connection } from "../exchange/reply.ts"
import { toServiceError } from "../store/unavailable.ts"
import { logCause } from "../telemetry/logs.ts"
import type { RouteError } from "./respond.ts"
import { type Authenticated, makeForCaller, type RuntimeRequest } from "./runtime.ts"

/** How an API reads a request and writes its reply. */
export interface ExchangeWords {
  readonly read: (authenticated: Authenticated) => {
    readonly decoded: ExchangeCall["decoded"]
    readonly connection: Connection
  }
  /** Where a refusal goes that comes before the body is read. */
  readonly refusedAt: () => Connection
  /** The status of the reply. */
  readonly status: () => number
}

const refuse = (error: RouteError, requestId: string, words: ExchangeWords): Effect.Effect<void> =>
  Effect.map(logCause(toServiceError(error), requestId), () => words.refusedAt().refuse(error))

export const makeExchangeRunner = Effect.gen(function* () {
  const exchanges = yield* Exchanges
  const overload = yield* Overload
  const { identify, traced } = yield* makeForCaller

  /** Refuses under overload before the body is read. */
  return (request: RuntimeRequest, requestId: string, words: ExchangeWords): Effect.Effect<void> => {
    const identified = Effect.andThen(overload.check(exchanges.open()), identify(request, requestId))
    // The exchange is the last step: nothing of the steps before it is kept while a stream is open.
    const run = Effect.flatMap(Effect.result(identified), (result) => {
      if (Result.isFailure(result)) return refuse(result.failure, requestId, words)
      const { decoded, connection } = words.read(result.success)
      return exchanges.run({ requestId, caller: result.success.caller, decoded }, connection)
    })
    return traced(request, requestId, words.status)(run)
  }
})
