/** The places below which routes of the catalogue are served; routes of the gateway's own come first. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import { failureAt } from "../compatible/reply.ts"
import { routeNotFound } from "../respond.ts"
import { PassThrough } from "./pass-through.ts"

export const passThroughRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { answer } = yield* PassThrough
    for (const path of ["/pass/*", "/openai/v1/*", "/anthropic/v1/*", "/gemini/*", "/cohere/*"] as const) {
      // A request for the head alone goes to the route of GET: a route of every method would take it from others.
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"] as const) {
        yield* router.add(
          method,
          path,
          (request) => answer(request) ?? failureAt(request.url)(newRequestId(), routeNotFound),
        )
      }
    }
  }),
)
