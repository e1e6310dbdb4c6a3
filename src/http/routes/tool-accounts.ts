/** Routes of accounts at servers of tools. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { WeirConfig } from "../../config.ts"
import type { Principal } from "../../identity/bearers.ts"
import { Api } from "../../protocol/api.ts"
import type { ConsentAddress, ToolServerStates } from "../../protocol/control/tool-account.ts"
import { serviceError } from "../../protocol/error.ts"
import { AuditLog } from "../../store/audit-log.ts"
import { AccountConnections, type AccountState } from "../../tool-servers/accounts/connections.ts"
import { platform } from "../../tool-servers/accounts/needed.ts"
import type { ClientPlace } from "../../tool-servers/accounts/registration.ts"
import { mayUse } from "../../tool-servers/caller-tools.ts"
import { makeForBearer } from "../bearer.ts"
import { makeForOperator, operator } from "../operator.ts"
import { originOf, type Request } from "../request.ts"

/** The gateway's addresses, as authorisation servers see them. A document of a client must be at a public address. */
export const clientPlace = (config: WeirConfig["Service"], request: Request): ClientPlace => {
  const { publicUrl } = config
  return {
    redirectUri: `${originOf(config, request).replace(/\/$/, "")}/tools/callback`,
    document:
      publicUrl?.startsWith("https:") === true ? `${publicUrl.replace(/\/$/, "")}/tools/client.json` : undefined,
  }
}

const listed = (states: ReadonlyArray<AccountState>): ToolServerStates => ({
  data: states.map(({ entry: { server }, state, connectedAt }) => ({
    id: server.id,
    name: server.name ?? server.id,
    state,
    ...(connectedAt !== undefined && { connectedAt: connectedAt.toISOString() }),
  })),
})

/** Whether a person may use something of a server, in one of the organisations. */
const isFor = ({ memberships }: Principal, server: string): boolean =>
  memberships.some(({ org, limits }) => mayUse({ org: org.org, limits }, server))

export const toolAccountRoutes = HttpApiBuilder.group(
  Api,
  "toolAccounts",
  Effect.fn(function* (handlers) {
    const { forPrincipal } = yield* makeForBearer
    const connections = yield* AccountConnections
    const config = yield* WeirConfig

    const personOf = ({ person }: Principal) =>
      person === undefined ? Effect.fail(onlyPeople) : Effect.succeed(person.id)

    const list = Effect.fnUntraced(function* (who: Principal) {
      const states = yield* connections.states(yield* personOf(who))
      return listed(states.filter(({ entry }) => isFor(who, entry.server.id)))
    })
    const connect = Effect.fnUntraced(function* (request: Request, who: Principal, server: string) {
      const owner = yield* personOf(who)
      if (!isFor(who, server)) return yield* noSuchServer
      const url = yield* connections.begin({ server, owner }, clientPlace(config, request))
      return { url: url.href } satisfies ConsentAddress
    })
    const disconnect = Effect.fnUntraced(function* (who: Principal, server: string) {
      const isGone = yield* connections.disconnect({ server, owner: yield* personOf(who) })
      if (!isGone) return yield* noAccount
    })

    return handlers
      .handleRaw("toolServers", ({ request }) => forPrincipal(request, list))
      .handleRaw("connectToolServer", ({ request, params }) =>
        forPrincipal(request, (who) => connect(request, who, params.id)),
      )
      .handleRaw("disconnectToolServer", ({ request, params }) =>
        forPrincipal(request, (who) => disconnect(who, params.id)),
      )
  }),
)

export const adminToolAccountRoutes = HttpApiBuilder.group(
  Api,
  "adminToolAccounts",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const connections = yield* AccountConnections
    const config = yield* WeirConfig
    const audit = yield* AuditLog

    const connect = Effect.fnUntraced(function* (request: Request, server: string) {
      const url = yield* connections.begin({ server, owner: platform }, clientPlace(config, request))
      yield* audit.write("tool_account.begun", operator, { server })
      return { url: url.href } satisfies ConsentAddress
    })
    const disconnect = Effect.fnUntraced(function* (server: string) {
      const isGone = yield* connections.disconnect({ server, owner: platform })
      if (!isGone) return yield* noAccount
      yield* audit.write("tool_account.removed", operator, { server })
    })

    return handlers
      .handleRaw("platformToolServers", ({ request }) =>
        forOperator(request, Effect.map(connections.states(platform), listed)),
      )
      .handleRaw("connectPlatformToolServer", ({ request, params }) =>
        forOperator(request, connect(request, params.id)),
      )
      .handleRaw("disconnectPlatformToolServer", ({ request, params }) => forOperator(request, disconnect(params.id)))
  }),
)

const onlyPeople = serviceError("forbidden", "Only people have accounts of their own at servers of tools")
const noSuchServer = serviceError("not_found", "There is no such server of tools")
const noAccount = serviceError("not_found", "There is no account at this server")
