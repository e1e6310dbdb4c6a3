/** Pages that connect accounts at servers of tools, and the document that describes the gateway as a client. */
import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { WeirConfig } from "../../config.ts"
import { Bearers, type Principal } from "../../identity/bearers.ts"
import { serviceError } from "../../protocol/error.ts"
import { AccountConnections } from "../../tool-servers/accounts/connections.ts"
import { platform } from "../../tool-servers/accounts/needed.ts"
import { clientMetadata } from "../../tool-servers/accounts/registration.ts"
import { mayUse } from "../../tool-servers/caller-tools.ts"
import { makeAnonymousRoutes } from "../anonymous.ts"
import { sessionOf } from "../browser-cookies.ts"
import { pageReply, readForm, respondPage } from "../page.ts"
import { onwardPage } from "../pages/login.ts"
import { connectedPage, connectPage, loginFirstPage } from "../pages/tool-accounts.ts"
import { originOf, type Request } from "../request.ts"
import type { RouteError } from "../respond.ts"
import { clientPlace } from "./tool-accounts.ts"

const EmptyForm = Schema.Struct({})

export const toolAccountPages = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { admitAddress } = yield* makeAnonymousRoutes
    const config = yield* WeirConfig
    const bearers = yield* Bearers
    const catalogue = yield* Catalogue
    const connections = yield* AccountConnections

    /** The person who is logged in with this browser; undefined if none. */
    const visitor = (request: Request): Effect.Effect<Principal | undefined, RouteError> => {
      const token = sessionOf(request, originOf(config, request))
      return token === undefined
        ? Effect.undefined
        : Effect.catchTag(bearers.ofBrowser(token), "ServiceError", () => Effect.undefined)
    }

    const named = Effect.fnUntraced(function* (id: string, who: Principal | undefined) {
      const entry = catalogue.current().toolServers.get(id)
      const isKnown = entry?.server.oauth?.of === "person"
      const isTheirs =
        who === undefined || who.memberships.some(({ org, limits }) => mayUse({ org: org.org, limits }, id))
      if (entry === undefined || !isKnown || !isTheirs) return yield* noSuchServer
      return entry.server.name ?? id
    })

    const show = Effect.fnUntraced(function* (request: Request, id: string) {
      const who = yield* visitor(request)
      const name = yield* named(id, who)
      return pageReply(
        request,
        who?.person === undefined ? loginFirstPage(name) : connectPage(id, name, who.person.email ?? ""),
      )
    })

    const begin = Effect.fnUntraced(function* (request: Request, id: string) {
      yield* readForm(EmptyForm, request, originOf(config, request))
      yield* admitAddress(request)
      const who = yield* visitor(request)
      const name = yield* named(id, who)
      if (who?.person === undefined) return pageReply(request, loginFirstPage(name))
      const url = yield* connections.begin({ server: id, owner: who.person.id }, clientPlace(config, request))
      return pageReply(request, onwardPage(url.href))
    })

    const finish = Effect.fnUntraced(function* (request: Request) {
      yield* admitAddress(request)
      const query = URL.parse(request.url, "http://localhost")?.searchParams ?? new URLSearchParams()
      const flow = yield* connections.flowOwner(query.get("state") ?? "")
      if (flow === undefined) return yield* noSuchFlow
      if (flow.owner !== platform) {
        // Another person's browser must not end it: it would connect that one's account.
        const who = yield* visitor(request)
        if (who?.person?.id !== flow.owner) return yield* notTheirs
      }
      const server = yield* connections.finish(query)
      return pageReply(request, connectedPage(catalogue.current().toolServers.get(server)?.server.name ?? server))
    })

    const document = (request: Request) => {
      const { document: id, redirectUri } = clientPlace(config, request)
      if (id === undefined) return HttpServerResponse.empty({ status: 404 })
      const metadata = { client_id: id, ...clientMetadata(redirectUri), token_endpoint_auth_method: "none" }
      return HttpServerResponse.jsonUnsafe(metadata, { headers: { "cache-control": "public, max-age=300" } })
    }

    const withServer = (answer: (request: Request, id: string) => ReturnType<typeof show>) => (request: Request) =>
      respondPage(
        request,
        Effect.flatMap(HttpRouter.params, ({ server = "" }) => answer(request, server)),
      )
    yield* router.add("GET", "/tools/connect/:server", withServer(show))
    yield* router.add("POST", "/tools/connect/:server", withServer(begin))
    yield* router.add("GET", "/tools/callback", (request) => respondPage(request, finish(request)))
    yield* router.add("GET", "/tools/client.json", (request) => Effect.sync(() => document(request)))
  }),
)

const noSuchServer = serviceError("not_found", "There is no such server of tools")
const noSuchFlow = serviceError("bad_request", "The consent was not begun here, has expired, or has ended")
const notTheirs = serviceError(
  "forbidden",
  "Log in as the person who has begun to connect the account, and begin again",
)
