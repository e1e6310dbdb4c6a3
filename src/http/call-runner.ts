/** Runs a call that came to a hot route, of any kind and in the words of any API. */
import { Effect, Result } from "effect"
import { Overload } from "../admission/overload.ts"
import { Calls } from "../calls/calls.ts"
import type { Call } from "../calls/held-call.ts"
import type { CallRequest, Kind } from "../calls/kind.ts"
import type { Connection } from "../calls/reply.ts"
import { WeirConfig } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import { Spool } from "../media/spool.ts"
import { toServiceError } from "../store/unavailable.ts"
import { logCause } from "../telemetry/logs.ts"
import { type Content, readContent } from "./content.ts"
import type { RouteError } from "./respond.ts"
import { type Authenticated, makeForCaller, type RuntimeRequest, type UploadRequest } from "./runtime.ts"

/** How an API answers a call. */
interface Answering<Body extends object> {
  /** Where a refusal goes that comes before the body is read. */
  readonly refusedAt: () => Pick<Connection<Body>, "refuse">
  /** The status of the reply. */
  readonly status: () => number
}

interface ReadCall<Request extends CallRequest, Body extends object> {
  readonly decoded: Call<Request, Body>["decoded"]
  readonly connection: Connection<Body>
}

/** How an API reads a request and writes its reply. */
export interface CallWords<Request extends CallRequest, Body extends object> extends Answering<Body> {
  readonly read: (authenticated: Authenticated) => ReadCall<Request, Body>
}

/** The same for a request that may have files, which are there until the call ends. */
export interface UploadWords<Request extends CallRequest, Body extends object> extends Answering<Body> {
  readonly read: (caller: Caller, content: Content) => Effect.Effect<ReadCall<Request, Body>>
}

export const makeCallRunner = Effect.gen(function* () {
  const calls = yield* Calls
  const overload = yield* Overload
  const { mediaBodyBytes, bodyMaxBytes } = yield* WeirConfig
  const spool = yield* Spool
  const { identify, identifyUpload, traced } = yield* makeForCaller

  /** Refuses under overload before the body is read. */
  const begin = <Request extends CallRequest, Body extends object, R>(
    kind: Kind<Request, Body>,
    request: RuntimeRequest,
    requestId: string,
    words: Answering<Body>,
    identified: Effect.Effect<ReadCall<Request, Body> & { readonly caller: Caller }, RouteError, R>,
  ): Effect.Effect<void, never, R> => {
    const refuse = (error: RouteError) =>
      Effect.map(logCause(toServiceError(error), requestId), () => words.refusedAt().refuse(error))
    // The call is the last step: nothing of the steps before it is kept while a stream is open.
    const prepared = Effect.result(Effect.andThen(overload.check(calls.open()), identified))
    const run = Effect.flatMap(prepared, (result) => {
      if (Result.isFailure(result)) return refuse(result.failure)
      const { decoded, connection, caller } = result.success
      return calls.run({ requestId, kind, caller, decoded }, connection)
    })
    return traced(request, requestId, words.status)(run)
  }

  return {
    run: <Request extends CallRequest, Body extends object>(
      kind: Kind<Request, Body>,
      request: RuntimeRequest,
      requestId: string,
      words: CallWords<Request, Body>,
    ): Effect.Effect<void> => {
      const identified = Effect.map(identify(request, requestId), (authenticated) => {
        const { decoded, connection } = words.read(authenticated)
        return { decoded, connection, caller: authenticated.caller }
      })
      return begin(kind, request, requestId, words, identified)
    },

    upload: <Request extends CallRequest, Body extends object>(
      kind: Kind<Request, Body>,
      request: UploadRequest,
      requestId: string,
      words: UploadWords<Request, Body>,
    ): Effect.Effect<void> => {
      const read = readContent(spool, request, { form: mediaBodyBytes, json: bodyMaxBytes })
      const identified = Effect.flatMap(identifyUpload(request, read), ({ caller, content }) =>
        Effect.map(words.read(caller, content), (call) => ({ ...call, caller })),
      )
      return Effect.scoped(begin(kind, request, requestId, words, identified))
    },
  }
})

export type CallRunner = Effect.Success<typeof makeCallRunner>
