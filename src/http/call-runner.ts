/** Runs a call that came to a hot route, of any kind and in the words of any API. */
import { Effect, Result } from "effect"
import { Overload } from "../admission/overload.ts"
import { Calls } from "../calls/calls.ts"
import type { Call } from "../calls/held-call.ts"
import type { CallRequest, Kind } from "../calls/kind.ts"
import type { Connection } from "../calls/reply.ts"
import { toServiceError } from "../store/unavailable.ts"
import { logCause } from "../telemetry/logs.ts"
import type { RouteError } from "./respond.ts"
import { type Authenticated, makeForCaller, type RuntimeRequest } from "./runtime.ts"

/** How an API reads a request and writes its reply. */
export interface CallWords<Request extends CallRequest, Body extends object> {
  readonly read: (authenticated: Authenticated) => {
    readonly decoded: Call<Request, Body>["decoded"]
    readonly connection: Connection<Body>
  }
  /** Where a refusal goes that comes before the body is read. */
  readonly refusedAt: () => Pick<Connection<Body>, "refuse">
  /** The status of the reply. */
  readonly status: () => number
}

export const makeCallRunner = Effect.gen(function* () {
  const calls = yield* Calls
  const overload = yield* Overload
  const { identify, traced } = yield* makeForCaller

  /** Refuses under overload before the body is read. */
  return <Request extends CallRequest, Body extends object>(
    kind: Kind<Request, Body>,
    request: RuntimeRequest,
    requestId: string,
    words: CallWords<Request, Body>,
  ): Effect.Effect<void> => {
    const refuse = (error: RouteError) =>
      Effect.map(logCause(toServiceError(error), requestId), () => words.refusedAt().refuse(error))
    const identified = Effect.andThen(overload.check(calls.open()), identify(request, requestId))
    // The call is the last step: nothing of the steps before it is kept while a stream is open.
    const run = Effect.flatMap(Effect.result(identified), (result) => {
      if (Result.isFailure(result)) return refuse(result.failure)
      const { decoded, connection } = words.read(result.success)
      return calls.run({ requestId, kind, caller: result.success.caller, decoded }, connection)
    })
    return traced(request, requestId, words.status)(run)
  }
})

export type CallRunner = Effect.Success<typeof makeCallRunner>
