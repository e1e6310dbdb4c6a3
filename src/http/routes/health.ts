/**
 * `/healthz`: this process is alive. `/readyz`: a call would be admitted and recorded, the node has its catalogue, and it is
 * not draining. `/metrics`: Prometheus text. Liveness never depends on a store.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Gate } from "../../admission/gate.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { identityProblems } from "../../catalogue/snapshot.ts"
import { isDevelopment, needsGateStore, WeirConfig } from "../../config.ts"
import { CallQueries } from "../../store/connections.ts"
import { probe, withDeadline } from "../../store/database.ts"
import { metricsOfAll } from "../../workers/worker.ts"
import { Draining } from "../draining.ts"
import { type Access, guarded } from "../internal-access.ts"

const health = HttpRouter.add("GET", "/healthz", Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" })))

const readiness = (access: Access) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const gate = yield* Gate
      const queries = yield* CallQueries
      const catalogue = yield* Catalogue
      const config = yield* WeirConfig
      // A gateway without a catalogue is ready, because applying one needs a request to it.
      const isGiven = config.catalogueFile !== undefined || isDevelopment(config)
      const draining = yield* Draining
      const answers = (check: Effect.Effect<unknown, unknown>) =>
        Effect.map(Effect.exit(check), (exit) => exit._tag === "Success")
      // The check writes to the database, and anybody who reaches this port may request it.
      const database = yield* Effect.cachedWithTTL(
        answers(
          probe.pipe(
            withDeadline(config.databaseDeadlineMs),
            Effect.provideService(CallQueries, queries),
            Effect.provideService(WeirConfig, config),
          ),
        ),
        probeEvery,
      )
      yield* router.add(
        "GET",
        "/readyz",
        Effect.gen(function* () {
          const [postgres, gateStore] = yield* Effect.all([database, answers(gate.ping)], { concurrency: 2 })
          const maySee = yield* access(yield* HttpServerRequest.HttpServerRequest)
          const hasCatalogue = !isGiven || catalogue.current().revision > 0n
          const isAdmitted = gateStore || !needsGateStore(config)
          const ready = postgres && isAdmitted && hasCatalogue && !draining.isDraining()
          const identities = identityProblems(catalogue.current())
          const details = {
            postgres,
            gate: gateStore,
            catalogue: hasCatalogue,
            draining: draining.isDraining(),
            // The node serves the other vendors.
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

/** The shortest interval between two checks of the database. */
const probeEvery = "1 second"

/** `/metrics` of all workers. */
export const metricsRoute = (access: Access) => HttpRouter.add("GET", "/metrics", guarded(access, metricsPage))

const metricsPage = Effect.map(metricsOfAll, (text) =>
  HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" }),
)

export const healthRoutes = (access: Access) => Layer.mergeAll(health, readiness(access))
