/** Routes of personal access tokens. */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AccessTokens, type KnownToken } from "../../identity/access-tokens.ts"
import { Api } from "../../protocol/api.ts"
import {
  type AccessToken,
  type AccessTokenList,
  type AccessTokenMinted,
  AccessTokenRequest,
} from "../../protocol/control/access-token.ts"
import { serviceError } from "../../protocol/error.ts"
import { type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { maxBodyBytes } from "../operator.ts"
import { type Request, readJson } from "../request.ts"

/** Maximum active tokens of one person in one organisation, or of the organisation itself. */
const maxTokens = 50

const dayMs = 24 * 3600 * 1000

export const tokenRoutes = HttpApiBuilder.group(
  Api,
  "tokens",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const tokens = yield* AccessTokens

    /** People may revoke their own tokens; owners and admins also the organisation's. */
    const mayRevoke = ({ org, principal, role }: Member, token: KnownToken) =>
      token.orgId === org.org.id &&
      (token.userId === undefined ? role !== "member" : token.userId === principal.person?.id)

    const mint = Effect.fnUntraced(function* (request: Request, member: Member) {
      const { hasLoggedIn, person } = member.principal
      if (!hasLoggedIn || person === undefined)
        return yield* serviceError("forbidden", "A login is required to create tokens")
      const {
        name,
        scopes,
        owner = "person",
        expiresInDays,
      } = yield* readJson(AccessTokenRequest, request, maxBodyBytes)
      if (owner === "org") yield* requireAdmin(member)
      const orgId = member.org.org.id
      const userId = owner === "org" ? undefined : person.id
      const active = (yield* tokens.list(orgId)).filter((token) => token.kind === "pat" && token.userId === userId)
      if (active.length >= maxTokens) {
        return yield* serviceError("limit_exceeded", "The maximum number of tokens is reached: revoke one first", {
          detail: { limit: maxTokens },
        })
      }
      const nowMs = yield* Clock.currentTimeMillis
      const expiresAt = expiresInDays === undefined ? undefined : new Date(nowMs + expiresInDays * dayMs)
      const unique = [...new Set(scopes)]
      // A token never has more rights than its creator.
      const role = owner === "person" ? undefined : member.role === "owner" ? "owner" : "admin"
      const { id, secret } = yield* tokens.issue({ kind: "pat", orgId, userId, role, name, scopes: unique, expiresAt })
      const known = {
        id,
        kind: "pat" as const,
        name,
        orgId,
        userId,
        scopes: unique,
        createdAt: new Date(nowMs),
        expiresAt,
      }
      return { ...shown(known), secret } satisfies AccessTokenMinted
    })

    const list = Effect.fnUntraced(function* (member: Member) {
      const known = yield* tokens.list(member.org.org.id)
      return { data: known.filter((token) => mayRevoke(member, token)).map(shown) } satisfies AccessTokenList
    })

    const revoke = Effect.fnUntraced(function* (member: Member, id: string) {
      const token = yield* tokens.find(id)
      if (token === undefined || !mayRevoke(member, token)) {
        return yield* serviceError("not_found", "The token does not exist")
      }
      yield* tokens.revoke(id)
    })

    return handlers
      .handleRaw("mintToken", ({ request }) => forMember(request, (member) => mint(request, member)))
      .handleRaw("listTokens", ({ request }) => forMember(request, list))
      .handleRaw("revokeToken", ({ request, params }) => forMember(request, (member) => revoke(member, params.id)))
  }),
)

const shown = ({ id, name, userId, scopes, createdAt, expiresAt }: KnownToken): AccessToken => ({
  id,
  name,
  owner: userId === undefined ? "org" : "person",
  scopes,
  createdAt: createdAt.toISOString(),
  ...(expiresAt !== undefined && { expiresAt: expiresAt.toISOString() }),
})
