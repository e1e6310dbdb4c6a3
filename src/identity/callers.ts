/**
 * Authentication of runtime routes: an application by key pair, an end user by token, or a person by device key or
 * personal access token.
 */
import { Context, Effect, Layer } from "effect"
import type { NetAddress } from "effect/net"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { People } from "../tenants/people.ts"
import { limitedSubject, orgRates } from "../tenants/subject-limits.ts"
import { Tenants } from "../tenants/tenants.ts"
import { AccessTokens, type Bearer, isClientToken } from "./access-tokens.ts"
import { type AppCaller, AppKeys, type AuthenticationError, type Verified } from "./app-keys.ts"
import { awsSignatureIn } from "./aws-signature.ts"
import { type Caller, endUserName } from "./caller.ts"
import { EndUserTokens } from "./end-user-tokens.ts"
import type { SignedBody } from "./signature.ts"

export type { Verified } from "./app-keys.ts"

/** The part of a request that authentication uses. */
export interface CallerRequest {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly address: () => NetAddress.IpAddress | undefined
  readonly method: string
  /** Path plus query, as sent. */
  readonly target: string
  readonly body: SignedBody
  /** The place at the endpoint of tools that is asked; absent elsewhere, where tokens of clients are not valid. */
  readonly tools?: ToolsPlace | undefined
}

export interface ToolsPlace {
  /** Undefined for all servers. */
  readonly server: string | undefined
}

export type CallerError =
  | AuthenticationError
  | ServiceError<"unauthorized" | "token_expired" | "forbidden">
  | StoreUnavailable

export class Callers extends Context.Service<
  Callers,
  {
    readonly authenticate: (request: CallerRequest) => Effect.Effect<Verified, CallerError>
    /** The caller of an earlier request, as it is now: its key or token, and its end user. */
    readonly known: (
      earlier: Pick<Caller, "keyId" | "endUserId"> & { readonly isApplication: boolean },
    ) => Effect.Effect<Caller, CallerError>
    /** Authenticates an application by its key pair only. */
    readonly application: (request: CallerRequest) => Effect.Effect<Verified<AppCaller>, CallerError>
  }
>()("weir/identity/Callers") {
  static readonly layer = Layer.effect(
    Callers,
    Effect.gen(function* () {
      const tenants = yield* Tenants
      const people = yield* People
      const appKeys = yield* AppKeys
      const endUserTokens = yield* EndUserTokens
      const accessTokens = yield* AccessTokens

      const application = (request: CallerRequest) =>
        appKeys.authenticate({
          ...request,
          keyId: request.headers["x-svc-key-id"],
          key: request.headers["x-svc-key"],
          scope: "runtime",
          signature: signatureOf(request),
          aws: awsSignatureIn(request.headers, request.target),
        })

      const endUser = Effect.fnUntraced(function* (request: CallerRequest, token: string) {
        const { keyId, appId, endUserId } = yield* endUserTokens.verify(token)
        const { caller, nonce } = yield* appKeys.checkKey({ ...request, keyId, signature: signatureOf(request) })
        if (caller.app.id !== appId) return yield* serviceError("unauthorized", "The token is not valid")
        return { caller: ofEndUser(caller, endUserId), nonce }
      })

      const callerOf = Effect.fnUntraced(function* ({ tokenId, orgId, person: owner }: Bearer) {
        const entry = yield* tenants.org(orgId)
        const memberships = owner === undefined ? [] : yield* people.membershipsOf(owner)
        const membership = memberships.find(({ org }) => org.org.id === orgId)
        if (entry === undefined || (owner !== undefined && membership === undefined)) {
          return yield* serviceError("unauthorized", "A valid bearer token is required")
        }
        if (entry.isDisabled === true) return yield* serviceError("forbidden", "The organisation is disabled")
        const person = owner && membership && { id: owner.id, teams: membership.teams }
        const limits = [...orgRates(entry.org), ...(membership?.limits ?? [])]
        const ids = { keyId: tokenId, app: undefined, endUserId: undefined, person }
        return { ...entry, ...ids, ...(limits.length > 0 && { limits }) }
      })
      const bearer = (authorization: string, tools: ToolsPlace | undefined) => {
        const owner =
          tools !== undefined && isClientToken(authorization)
            ? accessTokens.authenticateClient(authorization, tools.server)
            : accessTokens.authenticate(authorization, "runtime")
        return Effect.map(Effect.flatMap(owner, callerOf), (caller) => ({ caller, nonce: undefined }))
      }

      return Callers.of({
        application,
        known: ({ keyId, endUserId, isApplication }): Effect.Effect<Caller, CallerError> => {
          if (!isApplication) return Effect.flatMap(accessTokens.known(keyId, "runtime"), callerOf)
          return Effect.map(appKeys.known(keyId), (caller) =>
            endUserId === undefined ? caller : ofEndUser(caller, endUserId),
          )
        },
        authenticate: (request): Effect.Effect<Verified, CallerError> => {
          const { "x-svc-app-token": token, authorization } = request.headers
          if (request.headers["x-svc-key-id"] !== undefined) return application(request)
          if (token !== undefined) return endUser(request, token)
          return authorization === undefined ? application(request) : bearer(authorization, request.tools)
        },
      })
    }),
  )
}

const ofEndUser = (caller: AppCaller, endUserId: string): AppCaller => {
  const own = caller.app.endUsers && limitedSubject("endUser", endUserName(caller.app, endUserId), caller.app.endUsers)
  const limits = own === undefined ? caller.limits : [...(caller.limits ?? []), ...own]
  return { ...caller, endUserId, ...(limits !== undefined && { limits }) }
}

const signatureOf = ({ headers }: CallerRequest) => ({
  ts: headers["x-svc-ts"],
  nonce: headers["x-svc-nonce"],
  sign: headers["x-svc-sign"],
})
