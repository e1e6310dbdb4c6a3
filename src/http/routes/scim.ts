/** Routes of directory tokens, for owners and admins, and for operators. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { WeirConfig } from "../../config.ts"
import { ScimTokens } from "../../identity/scim/scim-tokens.ts"
import { Api } from "../../protocol/api.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { actorOf, type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { knownOrg, makeForOperator, operator } from "../operator.ts"
import { originOf, type Request } from "../request.ts"

const makeScimUrl = Effect.map(WeirConfig, (config) => (request: Request) => `${originOf(config, request)}/scim/v2`)

export const scimTokenRoutes = HttpApiBuilder.group(
  Api,
  "scim",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const tokens = yield* ScimTokens
    const urlOf = yield* makeScimUrl

    const enable = Effect.fnUntraced(function* (request: Request, member: Member) {
      yield* requireAdmin(member)
      const made = yield* tokens.create(member.org.org.id, member.role === "owner", actorOf(member))
      return { ...made, url: urlOf(request) }
    })

    return handlers
      .handleRaw("ownScim", ({ request }) =>
        forMember(request, (member) => Effect.andThen(requireAdmin(member), tokens.state(member.org.org.id))),
      )
      .handleRaw("enableOwnScim", ({ request }) => forMember(request, (member) => enable(request, member)))
      .handleRaw("disableOwnScim", ({ request }) =>
        forMember(request, (member) =>
          Effect.andThen(requireAdmin(member), tokens.end(member.org.org.id, actorOf(member))),
        ),
      )
  }),
)

export const adminScimRoutes = HttpApiBuilder.group(
  Api,
  "adminScim",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const tokens = yield* ScimTokens
    const tenants = yield* Tenants
    const urlOf = yield* makeScimUrl

    const enable = Effect.fnUntraced(function* (request: Request, org: string) {
      yield* knownOrg(tenants, org)
      return { ...(yield* tokens.create(org, true, operator)), url: urlOf(request) }
    })

    return handlers
      .handleRaw("orgScim", ({ request, params: { org } }) =>
        forOperator(request, Effect.andThen(knownOrg(tenants, org), tokens.state(org))),
      )
      .handleRaw("enableOrgScim", ({ request, params: { org } }) => forOperator(request, enable(request, org)))
      .handleRaw("disableOrgScim", ({ request, params: { org } }) =>
        forOperator(request, Effect.andThen(knownOrg(tenants, org), tokens.end(org, operator))),
      )
  }),
)
