/** The HTTP server: all routes, the envelope for invalid requests, and limits per connection. */
import { maxHeaderSize } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerError } from "effect/http"
import { HttpApiBuilder, HttpApiError } from "effect/http-api"
import { Overload } from "../admission/overload.ts"
import { Batches } from "../batches/batches.ts"
import { layerBatchRunner } from "../batches/run-batches.ts"
import { layerSubmissionRunner } from "../batches/vendor/run-submissions.ts"
import { SubmissionStore } from "../batches/vendor/submission-store.ts"
import { Calls, newRequestId } from "../calls/calls.ts"
import { lameDuckMsOf, WeirConfig } from "../config.ts"
import { OperatorSessions } from "../identity/operator-sessions.ts"
import { Api } from "../protocol/api.ts"
import { serviceError } from "../protocol/error.ts"
import { invalidInput, issuesOf } from "../protocol/json/issues.ts"
import { serveBelow } from "./base-path.ts"
import { layerLineCalls } from "./compatible/batches/line-calls.ts"
import { batchRoutes } from "./compatible/batches/routes.ts"
import { cacheRoutes } from "./compatible/caches.ts"
import { urlBehindDoor } from "./compatible/doors/doors.ts"
import { CompatibleHandlers } from "./compatible/exchange.ts"
import { uploadRoutes } from "./compatible/files/openai-uploads.ts"
import { fileRoutes } from "./compatible/files/routes.ts"
import { failureAt } from "./compatible/reply.ts"
import { conversationRoutes } from "./compatible/responses/conversation-routes.ts"
import { layerRepeatLost } from "./compatible/responses/repeat-lost.ts"
import { responseRoutes } from "./compatible/responses/routes.ts"
import { compatibleRoutes } from "./compatible/routes.ts"
import { limitConnections } from "./connection-limit.ts"
import { consoleRoutes } from "./console/routes.ts"
import { admitOrigins } from "./cross-origin.ts"
import { Draining } from "./draining.ts"
import { continueRequests } from "./expect-continue.ts"
import { guideRoutes } from "./guide/routes.ts"
import { answerDirectly } from "./hot-routes.ts"
import { makeAccess, openAccess } from "./internal-access.ts"
import { LargeRequests } from "./large/large-requests.ts"
import {
  beforeRequest,
  likeHttp1,
  makeListener,
  makePlainServer,
  type NodeServer,
  trackConnections,
} from "./listener.ts"
import { McpEndpoint } from "./mcp/endpoint.ts"
import { mcpAnswers, mcpRoutes } from "./mcp/routes.ts"
import { oauthRoutes } from "./oauth/routes.ts"
import { refuseOddRequests } from "./one-spelling.ts"
import { trackRequests } from "./open-requests.ts"
import { PassThrough } from "./pass-through/pass-through.ts"
import { keepRouted } from "./pass-through/routed-requests.ts"
import { passThroughRoutes } from "./pass-through/routes.ts"
import { envelope, routeNotFound } from "./respond.ts"
import { surviveResponseErrors } from "./response-errors.ts"
import { rewriteUrls } from "./rewrite-urls.ts"
import { activityRoutes } from "./routes/activity.ts"
import { adminRoutes } from "./routes/admin.ts"
import { adminActivityRoutes } from "./routes/admin-activity.ts"
import { adminBatchRoutes } from "./routes/admin-batches.ts"
import { adminDirectoryRoutes } from "./routes/admin-directory.ts"
import { adminDraftRoutes } from "./routes/admin-drafts.ts"
import { adminExportRoutes } from "./routes/admin-exports.ts"
import { adminFileRoutes } from "./routes/admin-files.ts"
import { adminJobRoutes } from "./routes/admin-jobs.ts"
import { adminPolicyRoutes } from "./routes/admin-policies.ts"
import { adminReplyCacheRoutes } from "./routes/admin-reply-cache.ts"
import { adminResponseRoutes } from "./routes/admin-responses.ts"
import { adminTenantRoutes } from "./routes/admin-tenants.ts"
import { adminToolServerRoutes } from "./routes/admin-tool-servers.ts"
import { adminVendorRoutes } from "./routes/admin-vendors.ts"
import { adminWebhookRoutes } from "./routes/admin-webhooks.ts"
import { applicationRoutes } from "./routes/applications.ts"
import { browserRoutes } from "./routes/browser.ts"
import { budgetRoutes } from "./routes/budgets.ts"
import { deviceRoutes } from "./routes/device.ts"
import { healthRoutes, metricsRoute } from "./routes/health.ts"
import { licenceRoutes } from "./routes/licences.ts"
import { loginRoutes } from "./routes/login.ts"
import { organisationRoutes } from "./routes/organisation.ts"
import { pageRoutes } from "./routes/pages.ts"
import { policyRoutes } from "./routes/policies.ts"
import { hotAnswers, runtimeRoutes } from "./routes/runtime.ts"
import { adminScimRoutes, scimTokenRoutes } from "./routes/scim.ts"
import { settingRoutes } from "./routes/settings.ts"
import { ssoRoutes } from "./routes/sso.ts"
import { statementRoutes } from "./routes/statements.ts"
import { tokenRoutes } from "./routes/tokens.ts"
import { toolAccountPages } from "./routes/tool-account-pages.ts"
import { adminToolAccountRoutes, toolAccountRoutes } from "./routes/tool-accounts.ts"
import { webhookRoutes } from "./routes/webhooks.ts"
import { scimRoutes } from "./scim/routes.ts"
import { makeSecurityHeaders } from "./security-headers.ts"
import { socketRoutes } from "./sockets/handlers.ts"
import { OpenSockets } from "./sockets/open-sockets.ts"
import { answerUpgrades } from "./sockets/upgrades.ts"
import { answerUnreadable } from "./unreadable-request.ts"

const apiRoutes = HttpApiBuilder.layer(Api).pipe(
  Layer.provide([
    runtimeRoutes,
    applicationRoutes,
    loginRoutes,
    ssoRoutes,
    deviceRoutes,
    tokenRoutes,
    toolAccountRoutes,
    adminToolAccountRoutes,
    settingRoutes,
    licenceRoutes,
    statementRoutes,
    budgetRoutes,
    policyRoutes,
    webhookRoutes,
    organisationRoutes,
    scimTokenRoutes,
    adminRoutes,
    adminDirectoryRoutes,
    adminTenantRoutes,
    adminVendorRoutes,
    adminJobRoutes,
    adminWebhookRoutes,
    adminExportRoutes,
    adminReplyCacheRoutes,
    adminResponseRoutes,
    adminFileRoutes,
    adminBatchRoutes,
    adminPolicyRoutes,
    adminToolServerRoutes,
    adminDraftRoutes,
    adminScimRoutes,
    activityRoutes,
    adminActivityRoutes,
    browserRoutes,
  ]),
)

/** Requests of batches are answered by the routes of their APIs. */
const batches = Layer.mergeAll(layerBatchRunner, layerSubmissionRunner.pipe(Layer.provide(SubmissionStore.layer))).pipe(
  Layer.provideMerge(Batches.layer),
  Layer.provide(layerLineCalls),
)

/** Serves all routes on the configured address; if a port for metrics is set, operators' routes are open there. */
export const layerServer = Layer.unwrap(
  Effect.gen(function* () {
    const config = yield* WeirConfig
    const { host, port, metricsPort, corsOrigins, tls, basePath } = config
    const { maxConnections } = yield* Overload
    const node = yield* makeListener(tls)
    const limit = limitConnections(node, maxConnections)
    answerUnreadable(node)
    const access = yield* makeAccess
    const main = Layer.mergeAll(
      apiRoutes,
      compatibleRoutes,
      cacheRoutes,
      responseRoutes,
      conversationRoutes,
      fileRoutes,
      uploadRoutes,
      batchRoutes,
      passThroughRoutes,
      mcpRoutes,
      oauthRoutes,
      pageRoutes,
      toolAccountPages,
      consoleRoutes,
      guideRoutes(access),
      healthRoutes(access),
      scimRoutes,
    )
    const routes = metricsPort === undefined ? Layer.mergeAll(main, metricsRoute(access)) : main
    const interceptors = Effect.gen(function* () {
      yield* keepRouted(node)
      yield* answerDirectly(node, yield* hotAnswers)
      yield* answerDirectly(node, yield* mcpAnswers)
      yield* admitOrigins(node, corsOrigins)
      yield* refuseOddRequests(node)
      yield* answerUpgrades(node, yield* socketRoutes, limit.upgrade)
      yield* rewriteUrls(node, urlBehindDoor, true)
      if (basePath !== "") yield* serveBelow(node, basePath)
      // These are last, so that they see every request, including those that an interceptor answers.
      continueRequests(node)
      yield* surviveResponseErrors(node)
      beforeRequest(node, limit.request)
      beforeRequest(node, makeSecurityHeaders(config))
      beforeRequest(node, likeHttp1)
    })
    const served = Layer.effectDiscard(interceptors).pipe(Layer.provideMerge(serve(routes, node, { host, port })))
    const server = drainAtShutdown(node).pipe(Layer.provideMerge(served))
    if (metricsPort === undefined) return server
    const inside = Layer.mergeAll(metricsRoute(openAccess), guideRoutes(openAccess), healthRoutes(openAccess))
    const operatorsNode = makePlainServer()
    operatorsNode.on("request", makeSecurityHeaders({ publicUrl: undefined, tls: undefined }))
    const operators = serve(inside, operatorsNode, { host, port: metricsPort })
    return Layer.mergeAll(server, Layer.effectDiscard(Layer.build(operators)))
  }),
).pipe(
  Layer.provide(Layer.merge(batches, layerRepeatLost)),
  Layer.provide(Layer.mergeAll(CompatibleHandlers.layer, PassThrough.layer, McpEndpoint.layer)),
  Layer.provide(Draining.layer),
  Layer.provide(Layer.merge(OperatorSessions.layer, LargeRequests.layer)),
)

/** The envelope for failures before a handler runs: unknown paths, and parts of a request that their schema refuses. */
const envelopes = HttpRouter.middleware(
  (answer) =>
    answer.pipe(
      Effect.catch((error) => {
        const known: unknown = error
        if (!HttpServerError.isHttpServerError(known)) return Effect.fail(error)
        if (known.reason._tag !== "RouteNotFound") return envelope(newRequestId(), notReadable)
        return failureAt(known.request.url)(newRequestId(), routeNotFound)
      }),
      Effect.catchDefect((defect) =>
        HttpApiError.HttpApiSchemaError.is(defect)
          ? envelope(newRequestId(), invalidInput(issuesOf(defect.cause)))
          : Effect.die(defect),
      ),
    ),
  { global: true },
)

const notReadable = serviceError("bad_request", "The request could not be read")

const serve = <E, R>(
  routes: Layer.Layer<never, E, R>,
  node: NodeServer,
  listen: { readonly host: string; readonly port: number },
) =>
  HttpRouter.serve(Layer.merge(routes, envelopes), {
    disableLogger: true,
    disableListenLog: true,
    // This is at least the maximum length of a URL: a parameter that is too long is refused by its schema, and not as an unknown
    // route. Paths have one spelling (one-spelling.ts).
    routerConfig: { maxParamLength: maxHeaderSize, caseSensitive: true, ignoreDuplicateSlashes: false },
  }).pipe(Layer.provideMerge(NodeHttpServer.layer(() => node, { ...listen, gracefulShutdownTimeout: closeGraceMs })))

/** The time for which connections stay open after the last exchange, so that its last bytes are delivered. */
const closeGraceMs = 3000

/**
 * The shutdown: fails readiness and serves on until load balancers have noticed; then stops accepting, and waits for
 * exchanges before their services close.
 */
const drainAtShutdown = (node: NodeServer) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const draining = yield* Draining
      const calls = yield* Calls
      const sockets = yield* OpenSockets
      const config = yield* WeirConfig
      const lameDuckMs = lameDuckMsOf(config)
      beforeRequest(node, ({ httpVersionMajor }, response) => {
        // A client that sends its next request on the connection would lose it when the connection is closed.
        if (draining.isDraining() && httpVersionMajor === 1) response.shouldKeepAlive = false
      })
      const beLameDuck = Effect.suspend(() => {
        draining.begin()
        return lameDuckMs === 0 ? Effect.void : Effect.sleep(lameDuckMs)
      })
      const stopListening = Effect.sync(() => {
        node.close()
      })
      // Somebody who pressed Ctrl-C waits for these.
      const nameOpenCalls = Effect.suspend(() =>
        calls.open() === 0
          ? Effect.void
          : Effect.logInfo("Stopping; open calls may end first", {
              calls: calls.open(),
              seconds: config.drainTimeoutMs / 1000,
            }),
      )
      const connections = trackConnections(node)
      const requests = trackRequests(node)
      // A request that was accepted may become a call only later.
      const drainCalls = Effect.all([calls.drain, Effect.timeoutOption(requests.whenNone, closeGraceMs)], {
        concurrency: "unbounded",
      }).pipe(Effect.andThen(calls.drain))
      const hangUp = Effect.sync(() => {
        if ("closeIdleConnections" in node) node.closeIdleConnections()
        setTimeout(connections.closeAll, closeGraceMs).unref()
      })
      yield* Effect.addFinalizer(() =>
        beLameDuck.pipe(
          Effect.andThen(stopListening),
          Effect.andThen(nameOpenCalls),
          Effect.andThen(Effect.all([drainCalls, sockets.drain], { concurrency: "unbounded" })),
          Effect.andThen(hangUp),
        ),
      )
    }),
  )
