/** Effects from the promises of the client. */
import { Effect } from "effect"
import { isWeirError, type WeirError } from "../errors.ts"
import type { CallOptions } from "../options.ts"

/** A call whose signal is the fiber's: interrupting it ends the call at the vendor. */
export const fromCall = <A>(call: (options: CallOptions) => Promise<A>): Effect.Effect<A, WeirError> =>
  Effect.catch(Effect.tryPromise({ try: (signal) => call({ signal }), catch: (error) => error }), (error) =>
    isWeirError(error) ? Effect.fail(error) : Effect.die(error),
  )
