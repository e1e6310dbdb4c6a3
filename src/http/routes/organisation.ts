/** Routes with which owners and admins manage their own organisation. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Gate } from "../../admission/gate.ts"
import { WeirConfig } from "../../config.ts"
import { Invitations } from "../../identity/invitations.ts"
import { KeyAdmin } from "../../identity/key-admin.ts"
import { Api } from "../../protocol/api.ts"
import { KeyRotation, KeyUpdate, OwnKeyMint } from "../../protocol/control/admin-directory.ts"
import type { TenantKind } from "../../protocol/control/tenants.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { normalEmail } from "../../protocol/values/text.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { Directory } from "../../tenants/directory.ts"
import { type TenantChange, TenantChanges } from "../../tenants/tenant-changes.ts"
import { actorOf, type Member, makeForBearer, requireAdmin, requireOwner } from "../bearer.ts"
import { maxBodyBytes } from "../operator.ts"
import { type ListQuery, searchOf } from "../page-query.ts"
import { mailOriginOf, type Request, readJson } from "../request.ts"
import { invalidName, isSettableName, readChange, recordOf, targetOf } from "../tenant-request.ts"

export const organisationRoutes = HttpApiBuilder.group(
  Api,
  "organisation",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const config = yield* WeirConfig
    const gate = yield* Gate
    const tenants = yield* TenantChanges
    const directory = yield* Directory
    const keys = yield* KeyAdmin
    const invitations = yield* Invitations

    const list = (request: Request, kind: TenantKind, query: ListQuery) =>
      forMember(
        request,
        Effect.fnUntraced(function* (member) {
          yield* requireAdmin(member)
          const { data, nextCursor } = yield* directory.list(kind, { ...(yield* searchOf(query)), org: orgOf(member) })
          return { data: data.map(recordOf), nextCursor }
        }),
      )

    /** The change, if the caller may make it: only owners create, change and remove owners. */
    const allowed = Effect.fnUntraced(function* (
      member: Member,
      change: TenantChange,
    ): Effect.fn.Return<TenantChange, ServiceError<"forbidden"> | StoreUnavailable> {
      if (change.kind !== "user" || member.role === "owner") return change
      const known = change.op === "create" ? undefined : yield* tenants.find("user", change.id)
      const becomes = change.op === "delete" ? undefined : change.value.role
      if (known?.document["role"] === "owner" || becomes === "owner") {
        yield* requireOwner(member)
      }
      // A member who becomes an owner at the same time is not changed.
      return change.op === "create" || known === undefined ? change : { revision: known.revision, ...change }
    })

    const apply = (member: Member, change: TenantChange) =>
      Effect.flatMap(allowed(member, change), (mine) =>
        tenants.change({ ...mine, within: orgOf(member) }, actorOf(member)),
      )

    const create = Effect.fnUntraced(function* (request: Request, kind: TenantKind, member: Member) {
      yield* requireAdmin(member)
      return yield* apply(member, yield* readChange(request, "create", kind, undefined, orgOf(member)))
    })

    const update = (request: Request, kind: TenantKind, id: string) =>
      forMember(
        request,
        Effect.fnUntraced(function* (member) {
          yield* requireAdmin(member)
          return recordOf(yield* apply(member, yield* readChange(request, "update", kind, id)))
        }),
      )

    const remove = (request: Request, kind: TenantKind, id: string) =>
      forMember(
        request,
        Effect.fnUntraced(function* (member) {
          if (!(kind === "user" && (yield* isSelf(member, id)))) yield* requireAdmin(member)
          yield* apply(member, { op: "delete", kind, ...(yield* targetOf(request, id)) })
        }),
      )

    /** Whether a member's id is the caller's own. */
    const isSelf = ({ principal }: Member, id: string) =>
      Effect.map(
        tenants.find("user", id),
        (found) => found !== undefined && normalEmail(String(found.document["email"])) === principal.person?.email,
      )

    const invite = Effect.fnUntraced(function* (request: Request, member: Member) {
      yield* requireAdmin(member)
      yield* gate.admit({ owner: orgOf(member), keyId: "invitations", rates: [invitationRate] })
      const created = yield* create(request, "user", member)
      const origin = mailOriginOf(config, request)
      if (origin === undefined) yield* Effect.logWarning(noAddress)
      const mailed =
        origin !== undefined &&
        (yield* invitations.send(String(created.document["email"]), member.org.org, `${origin}/login`))
      return { ...recordOf(created), mailed }
    })

    const mint = Effect.fnUntraced(function* (request: Request, member: Member) {
      yield* requireAdmin(member)
      const { app, name, scopes = ["runtime"], ...rest } = yield* readJson(OwnKeyMint, request, maxBodyBytes)
      const { expiresAt, requestId, ...limits } = rest
      if (name !== undefined && !isSettableName(name)) return yield* invalidName
      return yield* keys.mint({ app, id: undefined, name, scopes, expiresAt, requestId, limits, by: byOf(member) })
    })

    const changeKey = Effect.fnUntraced(function* (request: Request, member: Member, id: string) {
      yield* requireAdmin(member)
      const change = yield* readJson(KeyUpdate, request, maxBodyBytes)
      if (typeof change.name === "string" && !isSettableName(change.name)) return yield* invalidName
      yield* keys.change(id, change, byOf(member))
    })

    const rotateKey = Effect.fnUntraced(function* (request: Request, member: Member, id: string) {
      yield* requireAdmin(member)
      return yield* keys.rotate(id, yield* readJson(KeyRotation, request, maxBodyBytes), byOf(member))
    })

    return handlers
      .handleRaw("ownMembers", ({ request, query }) => list(request, "user", query))
      .handleRaw("inviteMember", ({ request }) => forMember(request, (member) => invite(request, member)))
      .handleRaw("updateOwnMember", ({ request, params }) => update(request, "user", params.id))
      .handleRaw("removeMember", ({ request, params }) => remove(request, "user", params.id))
      .handleRaw("ownTeams", ({ request, query }) => list(request, "team", query))
      .handleRaw("createOwnTeam", ({ request }) =>
        forMember(request, (member) => Effect.map(create(request, "team", member), recordOf)),
      )
      .handleRaw("updateOwnTeam", ({ request, params }) => update(request, "team", params.id))
      .handleRaw("deleteOwnTeam", ({ request, params }) => remove(request, "team", params.id))
      .handleRaw("ownApps", ({ request, query }) => list(request, "app", query))
      .handleRaw("createOwnApp", ({ request }) =>
        forMember(request, (member) => Effect.map(create(request, "app", member), recordOf)),
      )
      .handleRaw("updateOwnApp", ({ request, params }) => update(request, "app", params.id))
      .handleRaw("deleteOwnApp", ({ request, params }) => remove(request, "app", params.id))
      .handleRaw("ownKeys", ({ request, query }) =>
        forMember(request, (member) =>
          Effect.andThen(
            requireAdmin(member),
            Effect.flatMap(searchOf(query), (search) => directory.keys({ ...search, org: orgOf(member) })),
          ),
        ),
      )
      .handleRaw("mintOwnKey", ({ request }) => forMember(request, (member) => mint(request, member)))
      .handleRaw("changeOwnKey", ({ request, params }) =>
        forMember(request, (member) => changeKey(request, member, params.id)),
      )
      .handleRaw("rotateOwnKey", ({ request, params }) =>
        forMember(request, (member) => rotateKey(request, member, params.id)),
      )
      .handleRaw("revokeOwnKey", ({ request, params }) =>
        forMember(request, (member) => Effect.andThen(requireAdmin(member), keys.revoke(params.id, byOf(member)))),
      )
  }),
)

/** Invitations of an organisation. */
const invitationRate = { bucket: "invitations", limit: 100, windowMs: 3_600_000 }

const noAddress =
  "An invitation was not mailed: set SVC_PUBLIC_URL, or SVC_PUBLIC_HOSTS, because a link in a mail must not follow a request's Host"

const orgOf = ({ org }: Member): string => org.org.id

const byOf = (member: Member) => ({ actor: actorOf(member), within: orgOf(member) })
