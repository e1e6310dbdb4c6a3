/** The HTTP server: all routes, the envelope for paths that do not exist, limits on what a socket may cost. */
import { createServer, type Server } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder, HttpApiScalar } from "effect/http-api"
import { WeirConfig } from "../config.ts"
import { Exchanges, newRequestId } from "../exchange/exchange.ts"
import { Api } from "../protocol/api.ts"
import { serviceError } from "../protocol/error.ts"
import { admitOrigins } from "./cross-origin.ts"
import { answerDirectly } from "./direct.ts"
import { Draining } from "./draining.ts"
import { envelope } from "./respond.ts"
import { adminRoutes } from "./routes/admin.ts"
import { adminDirectoryRoutes } from "./routes/admin-directory.ts"
import { adminVendorRoutes } from "./routes/admin-vendors.ts"
import { applicationRoutes } from "./routes/applications.ts"
import { deviceRoutes } from "./routes/device.ts"
import { hotAnswers, runtimeRoutes } from "./routes/exchange.ts"
import { healthRoutes, metricsRoute } from "./routes/health.ts"
import { licenceRoutes } from "./routes/licences.ts"
import { loginRoutes } from "./routes/login.ts"
import { pageRoutes } from "./routes/pages.ts"
import { settingRoutes } from "./routes/settings.ts"
import { ssoRoutes } from "./routes/sso.ts"
import { statementRoutes } from "./routes/statements.ts"
import { tokenRoutes } from "./routes/tokens.ts"

const apiRoutes = HttpApiBuilder.layer(Api, { openapiPath: "/openapi.json" }).pipe(
  Layer.provide([
    runtimeRoutes,
    applicationRoutes,
    loginRoutes,
    ssoRoutes,
    deviceRoutes,
    tokenRoutes,
    settingRoutes,
    licenceRoutes,
    statementRoutes,
    adminRoutes,
    adminDirectoryRoutes,
    adminVendorRoutes,
  ]),
)

const docs = HttpApiScalar.layer(Api, { path: "/docs" })

const notFound = HttpRouter.add(
  "*",
  "/*",
  Effect.suspend(() => envelope(newRequestId(), serviceError("not_found", "There is nothing at this path"))),
)

/** Node buffers this much of a reply before it asks to wait; small, so that a slow client shows early. */
const responseBufferBytes = 16 * 1024

const makeServer = () =>
  createServer({ highWaterMark: responseBufferBytes, keepAliveTimeout: 65_000, requestTimeout: 300_000, noDelay: true })

/** Serves everything on the configured address; `/metrics` on a port of its own where one is set. */
export const layerServer = Layer.unwrap(
  Effect.map(WeirConfig, ({ host, port, metricsPort, corsOrigins }) => {
    const node = makeServer()
    const main = Layer.mergeAll(apiRoutes, pageRoutes, docs, healthRoutes, notFound)
    const routes = metricsPort === undefined ? Layer.mergeAll(main, metricsRoute) : main
    const ahead = Effect.andThen(
      Effect.flatMap(hotAnswers, (answers) => answerDirectly(node, answers)),
      admitOrigins(node, corsOrigins),
    )
    const served = Layer.effectDiscard(ahead).pipe(Layer.provideMerge(serve(routes, node, { host, port })))
    const server = drainAtShutdown(node).pipe(Layer.provideMerge(served))
    if (metricsPort === undefined) return server
    const metrics = serve(metricsRoute, makeServer(), { host, port: metricsPort })
    return Layer.mergeAll(server, Layer.effectDiscard(Layer.build(metrics)))
  }),
)

const serve = <E, R>(
  routes: Layer.Layer<never, E, R>,
  node: Server,
  listen: { readonly host: string; readonly port: number },
) =>
  HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provideMerge(NodeHttpServer.layer(() => node, { ...listen, gracefulShutdownTimeout: lastWordsMs })),
  )

/** How long connections may take to carry the last bytes once every exchange has ended. */
const lastWordsMs = 3000

/** Stops listening, says so to load balancers, and lets exchanges finish before anything they need is closed. */
const drainAtShutdown = (node: Server) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const draining = yield* Draining
      const exchanges = yield* Exchanges
      const stopListening = Effect.sync(() => {
        draining.begin()
        node.close()
      })
      const hangUp = Effect.sync(() => {
        node.closeIdleConnections()
        setTimeout(() => node.closeAllConnections(), lastWordsMs).unref()
      })
      yield* Effect.addFinalizer(() => stopListening.pipe(Effect.andThen(exchanges.drain), Effect.andThen(hangUp)))
    }),
  )
