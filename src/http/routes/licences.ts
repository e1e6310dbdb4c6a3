/** Routes of licences. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { Principal } from "../../identity/bearers.ts"
import { Licences } from "../../identity/licences.ts"
import { Api } from "../../protocol/api.ts"
import { LicenseActivate, LicenseIssue } from "../../protocol/control/licence.ts"
import { serviceError } from "../../protocol/error.ts"
import type { Actor } from "../../store/audit-log.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { actorOf, type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { maxBodyBytes } from "../operator.ts"
import { type Request, readJson } from "../request.ts"

/** Default validity of an activation code, in days. */
const defaultCodeDays = 30

/** Issues a licence for an application of an organisation. */
export const makeIssueLicence = Effect.gen(function* () {
  const tenants = yield* Tenants
  const licences = yield* Licences
  return Effect.fnUntraced(function* (request: Request, orgId: string, actor: Actor) {
    const { appId, codeExpiresInDays = defaultCodeDays } = yield* readJson(LicenseIssue, request, maxBodyBytes)
    if ((yield* tenants.app(appId))?.org.id !== orgId) {
      return yield* serviceError("not_found", "The organisation has no such application")
    }
    return yield* licences.issue(orgId, appId, codeExpiresInDays, actor)
  })
})

export const licenceRoutes = HttpApiBuilder.group(
  Api,
  "licences",
  Effect.fn(function* (handlers) {
    const { forMember, forPrincipal } = yield* makeForBearer
    const licences = yield* Licences
    const issueLicence = yield* makeIssueLicence

    const issue = Effect.fnUntraced(function* (request: Request, member: Member) {
      yield* requireAdmin(member)
      return yield* issueLicence(request, member.org.org.id, actorOf(member))
    })

    const activate = Effect.fnUntraced(function* (request: Request, { hasLoggedIn, person, memberships }: Principal) {
      if (!hasLoggedIn || person === undefined)
        return yield* serviceError("forbidden", "A login is required to activate a licence")
      const { code } = yield* readJson(LicenseActivate, request, maxBodyBytes)
      const orgIds = memberships.map(({ org }) => org.org.id)
      return { license: yield* licences.activate(code.trim(), orgIds, person.id) }
    })

    const end = Effect.fnUntraced(function* (member: Member, id: string, status: "suspended" | "revoked") {
      yield* requireAdmin(member)
      return { license: yield* licences.end(member.org.org.id, id, status, actorOf(member)) }
    })

    const list = Effect.fnUntraced(function* (member: Member) {
      yield* requireAdmin(member)
      return { data: yield* licences.list(member.org.org.id) }
    })

    return handlers
      .handleRaw("issueLicence", ({ request }) => forMember(request, (member) => issue(request, member)))
      .handleRaw("listLicences", ({ request }) => forMember(request, list))
      .handleRaw("activateLicence", ({ request }) => forPrincipal(request, (principal) => activate(request, principal)))
      .handleRaw("revokeLicence", ({ request, params }) =>
        forMember(request, (member) => end(member, params.id, "revoked")),
      )
      .handleRaw("suspendLicence", ({ request, params }) =>
        forMember(request, (member) => end(member, params.id, "suspended")),
      )
  }),
)
