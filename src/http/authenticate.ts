/**
 * Authentication of a runtime request in two steps. The credential is checked before any of the body is read, so that unknown
 * callers cannot fill the memory or take the event loop's time. A signature covers the body: it is verified after the body
 * has been read, and its nonce is accepted once. No handler can omit the second step: it has no other way to a caller.
 */
import { Effect } from "effect"
import { Gate } from "../admission/gate.ts"
import type { CallPrice } from "../calls/price-call.ts"
import { WeirConfig } from "../config.ts"
import { awsSignatureIn } from "../identity/aws-signature.ts"
import type { Caller } from "../identity/caller.ts"
import { type CallerRequest, Callers, type ToolsPlace, type Verified } from "../identity/callers.ts"
import type { SignedBody } from "../identity/signature.ts"
import type { RepeatedResponse } from "../kept-responses/lost-responses.ts"
import { keepPlace } from "./connection-limit.ts"
import { makeCallerAddress, type Request } from "./request.ts"
import type { RouteError } from "./respond.ts"
import { sentUrl } from "./rewrite-urls.ts"

/** The part of a request that identifies its caller. */
export interface SentRequest extends Pick<Request, "remoteAddress"> {
  /** The request as the server has it. */
  readonly source: object
  /** In lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly method: string
  /** Path plus query, as sent. */
  readonly url: string
  /** The gateway's own request for a caller that it knows: one of a batch, or one that is made once more. */
  readonly own?: OwnRequest | undefined
  /** The place at the endpoint of tools that is asked. */
  readonly tools?: ToolsPlace | undefined
}

export interface OwnRequest {
  readonly caller: Caller
  /** Takes its price, and nothing is asked; absent if it is to be made. */
  readonly priced?: (price: CallPrice) => void
  /** The response in the background that it makes once more. */
  readonly repeated?: RepeatedResponse
}

interface CheckedRequest extends CallerRequest {
  /** The caller of a request of the gateway's own. */
  readonly own: Caller | undefined
}

/** The callers that a route accepts. */
export type Check<C extends Caller> = (request: CheckedRequest) => Effect.Effect<Verified<C>, RouteError>

export const makeAuthenticate = Effect.gen(function* () {
  const callers = yield* Callers
  const gate = yield* Gate
  const { trustedProxies } = yield* WeirConfig
  const callerAddress = makeCallerAddress(trustedProxies)

  const checked = <C extends Caller>(check: Check<C>, request: SentRequest, body: SignedBody) => {
    const { headers, method, own, tools } = request
    const target = sentUrl(request)
    return check({ headers, address: () => callerAddress(request), method, target, body, own: own?.caller, tools })
  }

  const anyCaller: Check<Caller> = (request) =>
    request.own === undefined
      ? callers.authenticate(request)
      : Effect.succeed({ caller: request.own, nonce: undefined })

  /** @param read reads the body of a caller whose credential is known. @returns its content, and the bytes that a signature of it covers */
  const authenticate = <C extends Caller, A, E, R>(
    check: Check<C>,
    request: SentRequest,
    read: (caller: C) => Effect.Effect<{ readonly content: A; readonly signed: SignedBody }, E, R>,
  ): Effect.Effect<{ readonly caller: C; readonly content: A }, RouteError | E, R> =>
    Effect.flatMap(checked(check, request, "unread"), ({ caller }) => {
      keepPlace(request.source)
      return Effect.flatMap(read(caller), ({ content, signed }) =>
        isSigned(request)
          ? Effect.map(verified(check, request, signed), (caller) => ({ caller, content }))
          : Effect.succeed({ caller, content }),
      )
    })

  const verified = <C extends Caller>(check: Check<C>, request: SentRequest, signed: SignedBody) =>
    Effect.flatMap(
      checked(check, request, signed),
      ({ caller, nonce }): Effect.Effect<C, RouteError> =>
        nonce === undefined
          ? Effect.succeed(caller)
          : Effect.as(gate.admit({ owner: caller.org.id, keyId: caller.keyId, nonce, rates: [] }), caller),
    )

  return {
    authenticate,
    anyCaller,
    application: callers.application,
    /** Whether a request has a valid credential; nothing is counted, and a signature is not verified. */
    hasCredential: (request: SentRequest): Effect.Effect<boolean> =>
      Effect.tap(Effect.isSuccess(checked(callers.authenticate, request, "unread")), (isKnown) =>
        Effect.sync(() => {
          if (isKnown) keepPlace(request.source)
        }),
      ),
    /** The caller of a request whose signature was verified before, as it is now. */
    again: (request: SentRequest): Effect.Effect<Caller, RouteError> =>
      Effect.map(checked(anyCaller, request, "verified"), ({ caller }) => caller),
  }
})

const isSigned = ({ headers, url }: SentRequest): boolean =>
  headers["x-svc-sign"] !== undefined || awsSignatureIn(headers, url) !== undefined
