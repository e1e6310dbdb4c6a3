/**
 * The principal of a bearer token on control routes: a person by login or personal access token, or an organisation by
 * its own token.
 */
import { Context, Effect, Layer } from "effect"
import { serviceError } from "../protocol/error.ts"
import { type Membership, People, type Person } from "../tenants/people.ts"
import { Tenants } from "../tenants/tenants.ts"
import type { TokenUse } from "./access-jwts.ts"
import { AccessTokens, type BearerError } from "./access-tokens.ts"
import { Logins } from "./logins.ts"

export interface Principal {
  /** Absent if the token belongs to an organisation itself. */
  readonly person: Person | undefined
  /** Whether the person has logged in; a personal access token may do less. */
  readonly hasLoggedIn: boolean
  /** The only organisation in which the token acts; undefined if it acts in all of the person's. */
  readonly orgId: string | undefined
  /** The organisations in which the token acts, with roles. A personal access token acts in one. */
  readonly memberships: ReadonlyArray<Membership>
}

export class Bearers extends Context.Service<
  Bearers,
  {
    /** @param authorization the whole header value */
    readonly authenticate: (authorization: string | undefined) => Effect.Effect<Principal, BearerError>
    /** The principal of a browser. @param token the value of its cookie */
    readonly ofBrowser: (token: string) => Effect.Effect<Principal, BearerError>
  }
>()("weir/identity/Bearers") {
  static readonly layer = Layer.effect(
    Bearers,
    Effect.gen(function* () {
      const tenants = yield* Tenants
      const people = yield* People
      const logins = yield* Logins
      const tokens = yield* AccessTokens

      const loggedIn = Effect.fnUntraced(function* (
        jwt: string,
        use: TokenUse,
      ): Effect.fn.Return<Principal, BearerError> {
        const { account, orgId } = yield* logins.authenticate(jwt, use)
        const memberships = yield* people.membershipsOf(account)
        const within = orgId === undefined ? memberships : memberships.filter(({ org }) => org.org.id === orgId)
        return { person: account, hasLoggedIn: true, orgId, memberships: within }
      })

      const byToken = Effect.fnUntraced(function* (
        authorization: string | undefined,
      ): Effect.fn.Return<Principal, BearerError> {
        const { person, orgId, role } = yield* tokens.authenticate(authorization, "control")
        const org = yield* tenants.org(orgId)
        if (person !== undefined) {
          const memberships = (yield* people.membershipsOf(person)).filter(({ org }) => org.org.id === orgId)
          return { person, hasLoggedIn: false, orgId, memberships }
        }
        if (org === undefined) return yield* serviceError("unauthorized", "A valid bearer token is required")
        return { person, hasLoggedIn: false, orgId, memberships: [{ org, role, teams: [], limits: [] }] }
      })

      return Bearers.of({
        ofBrowser: (token) => loggedIn(token, "browser"),
        authenticate: (authorization) => {
          const jwt = jwtPattern.exec(authorization ?? "")?.[1]
          return jwt === undefined ? byToken(authorization) : loggedIn(jwt, "bearer")
        },
      })
    }),
  )
}

const jwtPattern = /^Bearer ([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i
