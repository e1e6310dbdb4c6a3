/**
 * Routes for bearer tokens, and for people who have logged in with a browser: the token's principal, or its membership
 * in the organisation that the request names.
 */
import { Effect } from "effect"
import { WeirConfig } from "../config.ts"
import { Bearers, type Principal } from "../identity/bearers.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { Actor } from "../store/audit-log.ts"
import type { Membership } from "../tenants/people.ts"
import { sessionOf } from "./browser-cookies.ts"
import { originOf, type Request } from "./request.ts"
import { type RouteError, respondJson } from "./respond.ts"
import { checkCredential } from "./same-origin.ts"

export interface Member extends Membership {
  readonly principal: Principal
}

export const makeForBearer = Effect.gen(function* () {
  const bearers = yield* Bearers
  const config = yield* WeirConfig

  const principalOf = (request: Request): Effect.Effect<Principal, RouteError> => {
    const origin = originOf(config, request)
    return checkCredential<Principal, RouteError>(request, origin, sessionOf(request, origin), {
      header: request.headers["authorization"],
      ofHeader: bearers.authenticate,
      ofCookie: bearers.ofBrowser,
    })
  }

  /** The membership with which a request acts. @param asked the organisation that it names */
  const memberIn = Effect.fnUntraced(function* (
    request: Request,
    principal: Principal,
    asked = request.headers["x-svc-org"],
  ): Effect.fn.Return<Member, ServiceError<"bad_request" | "not_found">> {
    const { memberships } = principal
    if (asked === undefined && memberships.length > 1) {
      return yield* serviceError("bad_request", "x-svc-org is required: you are a member of several organisations")
    }
    // A non-member gets the same reply as for an organisation that does not exist.
    const membership = asked === undefined ? memberships[0] : memberships.find(({ org }) => org.org.id === asked)
    return membership === undefined ? yield* notFound : { ...membership, principal }
  })

  const memberOf = (request: Request): Effect.Effect<Member, RouteError> =>
    Effect.flatMap(principalOf(request), (principal) => memberIn(request, principal))

  const answering =
    <Who>(who: (request: Request) => Effect.Effect<Who, RouteError>) =>
    <A, R>(request: Request, answer: (who: Who) => Effect.Effect<A, RouteError, R>) =>
      respondJson(Effect.flatMap(who(request), answer))

  return { principalOf, memberIn, forPrincipal: answering(principalOf), forMember: answering(memberOf) }
})

const notFound = serviceError("not_found", "The organisation does not exist")

/** The actor in audit records of a member's requests. */
export const actorOf = ({ principal: { person }, org }: Member): Actor =>
  person === undefined ? { type: "org", id: org.org.id } : { type: "user", id: person.id }

/** Requires the role owner. */
export const requireOwner = ({ role }: Member): Effect.Effect<void, ServiceError<"forbidden">> =>
  role === "owner" ? Effect.void : Effect.fail(serviceError("forbidden", "This requires the role owner"))

/** Requires the role owner or admin. */
export const requireAdmin = ({ role }: Member): Effect.Effect<void, ServiceError<"forbidden">> =>
  role === "member" ? Effect.fail(serviceError("forbidden", "This requires the role owner or admin")) : Effect.void
