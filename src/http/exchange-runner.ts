/** Runs an exchange that came to a hot route, in the words of any API. */
import { Effect } from "effect"
import { Overload } from "../admission/overload.ts"
import { Exchanges } from "../exchange/exchanges.ts"
import type { ExchangeCall } from "../exchange/held-exchange.ts"
import type { Connection } from "../exchange/reply.ts"
import { toServiceError } from "../store/unavailable.ts"
import { logCause } from "../telemetry/logs.ts"
import { type Authenticated, makeForCaller, type RuntimeRequest, recordStatus } from "./runtime.ts"

/** How an API reads a request and writes its reply. */
export interface ExchangeWords {
  readonly read: (authenticated: Authenticated) => {
    readonly decode: ExchangeCall["decode"]
    readonly connection: Connection
  }
  /** Where a refusal goes that comes before the body is read. */
  readonly refusedAt: () => Connection
  /** The status of the reply. */
  readonly status: () => number
}

export const makeExchangeRunner = Effect.gen(function* () {
  const exchanges = yield* Exchanges
  const overload = yield* Overload
  const { identify, traced } = yield* makeForCaller

  /** Refuses under overload before the body is read. */
  return (request: RuntimeRequest, requestId: string, words: ExchangeWords): Effect.Effect<void> => {
    const run = Effect.andThen(overload.check(exchanges.open()), identify(request, requestId)).pipe(
      Effect.matchEffect({
        onSuccess: (authenticated) => {
          const { decode, connection } = words.read(authenticated)
          return exchanges.run({ requestId, caller: authenticated.caller, decode }, connection)
        },
        onFailure: (error) =>
          Effect.andThen(
            logCause(toServiceError(error), requestId),
            Effect.sync(() => words.refusedAt().refuse(error)),
          ),
      }),
      Effect.tap(() => recordStatus(words.status())),
    )
    return traced(request, requestId)(run)
  }
})
