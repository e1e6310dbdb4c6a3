/** `/v1/admin/*`: what operators do; the CLI speaks these routes. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Catalogue, type CatalogueRefused } from "../../catalogue/catalogue.ts"
import { newRequestId } from "../../exchange/exchange.ts"
import { AdminKey } from "../../identity/admin.ts"
import { ApplyRequest, type ApplyResponse } from "../../protocol/admin.ts"
import { Api } from "../../protocol/api.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { readJson } from "../request.ts"
import { respond } from "../respond.ts"

const maxBodyBytes = 16 * 1024 * 1024

export const adminRoutes = HttpApiBuilder.group(
  Api,
  "admin",
  Effect.fn(function* (handlers) {
    const adminKey = yield* AdminKey
    const catalogue = yield* Catalogue

    const applyCatalogue = Effect.fn("applyCatalogue")(function* (request: Parameters<typeof readJson>[1]) {
      yield* adminKey.check(request.headers["x-svc-admin-key"])
      const { text, dryRun, keySha256 } = yield* readJson(ApplyRequest, request, maxBodyBytes)
      const applied = yield* catalogue
        .apply(text, { dryRun, keySha256 })
        .pipe(Effect.catchTag("CatalogueRefused", (refused) => Effect.fail(toBadRequest(refused))))
      const response: ApplyResponse = { ...applied, revision: String(applied.revision) }
      return HttpServerResponse.jsonUnsafe(response)
    })

    return handlers.handleRaw("applyCatalogue", ({ request }) => {
      const requestId = newRequestId()
      return respond(
        requestId,
        Effect.map(applyCatalogue(request), HttpServerResponse.setHeader("x-svc-request-id", requestId)),
      )
    })
  }),
)

const toBadRequest = ({ issues }: CatalogueRefused): ServiceError<"bad_request"> =>
  serviceError("bad_request", "The catalogue has errors; nothing was applied", {
    detail: { issues: issues.slice(0, 16).map(({ path, line, message }) => ({ path, line, message })) },
  })
