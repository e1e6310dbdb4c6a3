/**
 * `/healthz`: this process is alive. `/readyz`: the stores answer, the node has its catalogue, and it is not draining.
 * `/metrics`: Prometheus text. Liveness never depends on a store.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Gate } from "../../admission/gate.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { identityProblems } from "../../catalogue/snapshot.ts"
import { isDevelopment, WeirConfig } from "../../config.ts"
import { CallQueries } from "../../store/connections.ts"
import { ping, withDeadline } from "../../store/database.ts"
import { metricsOfAll } from "../../workers/worker.ts"
import { type Access, guarded } from "../details.ts"
import { Draining } from "../draining.ts"

const health = HttpRouter.add("GET", "/healthz", Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" })))

const readiness = (access: Access) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const gate = yield* Gate
      const queries = yield* CallQueries
      const catalogue = yield* Catalogue
      const config = yield* WeirConfig
      // A gateway that is given no catalogue waits for one to be applied, which needs it to be called.
      const isGiven = config.catalogueFile !== undefined || isDevelopment(config)
      const draining = yield* Draining
      const database = ping.pipe(withDeadline(config.databaseDeadlineMs), Effect.provideService(CallQueries, queries))
      const answers = (check: Effect.Effect<unknown, unknown>) =>
        Effect.map(Effect.exit(check), (exit) => exit._tag === "Success")
      yield* router.add(
        "GET",
        "/readyz",
        Effect.gen(function* () {
          const [postgres, gateStore] = yield* Effect.all([answers(database), answers(gate.ping)], { concurrency: 2 })
          const maySee = yield* access(yield* HttpServerRequest.HttpServerRequest)
          const hasCatalogue = !isGiven || catalogue.current().revision > 0n
          const ready = postgres && gateStore && hasCatalogue && !draining.isDraining()
          const identities = identityProblems(catalogue.current())
          const details = {
            postgres,
            gate: gateStore,
            catalogue: hasCatalogue,
            draining: draining.isDraining(),
            // It serves the other vendors.
            ...(identities.length > 0 && { identities }),
          }
          return HttpServerResponse.jsonUnsafe(
            { status: ready ? "ready" : "not ready", ...(maySee && details) },
            { status: ready ? 200 : 503 },
          )
        }),
      )
    }),
  )

/** `/metrics` of all workers. */
export const metricsRoute = (access: Access) => HttpRouter.add("GET", "/metrics", guarded(access, metricsPage))

const metricsPage = Effect.map(metricsOfAll, (text) =>
  HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" }),
)

export const healthRoutes = (access: Access) => Layer.mergeAll(health, readiness(access))
