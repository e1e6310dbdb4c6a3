/** Answering who shows a bearer token with the scope `control`, for the organisation that it belongs to. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { OrgEntry } from "../catalogue/snapshot.ts"
import { newRequestId } from "../exchange/exchange.ts"
import { AccessTokens, type Bearer } from "../identity/access-tokens.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { Request } from "./operator.ts"
import { type RouteError, respond } from "./respond.ts"

export type Role = "owner" | "admin" | "member"

export interface Member {
  readonly bearer: Bearer
  readonly org: OrgEntry
  /** An organisation's own token has the rights of an owner. */
  readonly role: Role
}

export const makeForMember = Effect.gen(function* () {
  const tokens = yield* AccessTokens
  const catalogue = yield* Catalogue

  const memberOf = Effect.fnUntraced(function* (request: Request) {
    const bearer = yield* tokens.authenticate(request.headers["authorization"], "control")
    const snapshot = catalogue.current()
    const asked = request.headers["x-svc-org"] ?? bearer.orgId
    const org = snapshot.org(asked)
    // Who is no member is told the same as who asks for an organisation that does not exist.
    if (org === undefined || asked !== bearer.orgId) return yield* notFound
    if (bearer.userId === undefined) return { bearer, org, role: "owner" as const }
    const user = snapshot.document.users?.find(({ id }) => id === bearer.userId)
    return user === undefined || user.org !== asked ? yield* notFound : { bearer, org, role: user.role }
  })

  const forMember = <A, R>(request: Request, answer: (member: Member) => Effect.Effect<A, RouteError, R>) => {
    const requestId = newRequestId()
    const headers = { "x-svc-request-id": requestId }
    return respond(
      requestId,
      Effect.map(Effect.flatMap(memberOf(request), answer), (body) => HttpServerResponse.jsonUnsafe(body, { headers })),
    )
  }
  return forMember
})

const notFound = serviceError("not_found", "There is no such organisation")

/** Owners and admins pass. */
export const requireAdmin = ({ role }: Member): Effect.Effect<void, ServiceError<"forbidden">> =>
  role === "member" ? Effect.fail(serviceError("forbidden", "Owners and admins may do this")) : Effect.void
