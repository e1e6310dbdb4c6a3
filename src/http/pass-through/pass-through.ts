/** Serves the routes that the catalogue passes through to vendors, where no route of the gateway's own answers. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Context, Effect, Fiber, Layer } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { makeForkIn } from "../../collections.ts"
import type { ErrorWords } from "../../dialects/client/whole-client.ts"
import { makePassed } from "../../kinds/passed/passed.ts"
import type { PassedMethod } from "../../kinds/passed/passed-request.ts"
import { IdOwners } from "../../pass-through/id-owners.ts"
import { type FoundRoute, findRoute } from "../../pass-through/routes.ts"
import { serviceError } from "../../protocol/error.ts"
import { makeCallRunner } from "../call-runner.ts"
import { withCredential } from "../compatible/credential.ts"
import { apiBelow, failureAt } from "../compatible/reply.ts"
import { fromNode } from "../hot-routes.ts"
import type { Request } from "../request.ts"
import { PassConnection } from "./pass-connection.ts"
import { readPassed } from "./pass-request.ts"
import { routedOf } from "./routed-requests.ts"

/** Errors of routes below `/pass`. */
const ownErrors: ErrorWords = { error: (error) => ({ error }), requestIdHeader: "x-svc-request-id" }

export class PassThrough extends Context.Service<
  PassThrough,
  {
    /** Answers a request that a declared route takes; undefined if none does. */
    readonly answer: (request: Request) => Effect.Effect<HttpServerResponse.HttpServerResponse> | undefined
  }
>()("weir/http/PassThrough") {
  static readonly layer = Layer.effect(
    PassThrough,
    Effect.gen(function* () {
      const catalogue = yield* Catalogue
      const runner = yield* makeCallRunner
      const kind = makePassed(yield* IdOwners)
      const forkIn = yield* makeForkIn

      const pass = (
        found: FoundRoute<CallTarget>,
        method: PassedMethod,
        message: IncomingMessage,
        response: ServerResponse,
      ) => {
        const request = withCredential(fromNode(message))
        const requestId = newRequestId()
        const errors = apiBelow(request.url) ?? ownErrors
        const connection = new PassConnection(response, requestId, errors)
        return runner.run(kind, request, requestId, {
          read: ({ body }) => ({ decoded: readPassed(found, method, request, body), connection }),
          refusedAt: () => connection,
          status: () => response.statusCode,
        })
      }

      return PassThrough.of({
        answer: (request) => {
          const { passThrough } = catalogue.current()
          if (passThrough.length === 0) return undefined
          const url = request.url.split("?", 1)[0] ?? ""
          const found = findRoute(passThrough, request.method, url)
          if (found === undefined) return undefined
          if ("methods" in found) {
            const methods = found.methods.join(", ")
            return failureAt(request.url)(newRequestId(), serviceError("not_found", `The route takes ${methods} only`))
          }
          const method = found.route.declared.methods.find((each) => each === request.method)
          const routed = routedOf(request.source)
          if (method === undefined || routed === undefined) return undefined
          const { message, response } = routed
          // The reply is written directly, and a client that leaves does not end its settlement.
          const fiber = forkIn(pass(found, method, message, response))
          return Effect.as(
            Effect.tap(Fiber.await(fiber), () =>
              Effect.sync(() => {
                if (!response.writableEnded) response.destroy()
              }),
            ),
            HttpServerResponse.empty(),
          )
        },
      })
    }),
  )
}
