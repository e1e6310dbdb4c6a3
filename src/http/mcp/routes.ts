/** The routes of the Model Context Protocol. */
import { Effect, Fiber } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { makeForkIn } from "../../collections.ts"
import { type DirectHandler, fromNode } from "../hot-routes.ts"
import { routedOf } from "../pass-through/routed-requests.ts"
import type { Request } from "../request.ts"
import { McpEndpoint } from "./endpoint.ts"

/** Messages are answered directly from Node's socket. */
export const mcpAnswers = Effect.map(McpEndpoint, ({ serve }) => {
  const all: DirectHandler = (request, response) => serve(request, response, undefined)
  return (path: string): DirectHandler | undefined => {
    if (path === "/mcp") return all
    const [, server] = /^\/mcp\/([a-z][a-z0-9-]*)$/.exec(path) ?? []
    return server === undefined ? undefined : (request, response) => serve(request, response, server)
  }
})

export const mcpRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { serve } = yield* McpEndpoint
    const forkIn = yield* makeForkIn

    /** The reply is written directly, and a client that leaves does not end the settlement of its call. */
    const answer = (request: Request, server: string | undefined) => {
      const routed = routedOf(request.source)
      if (routed === undefined) return Effect.succeed(HttpServerResponse.empty({ status: 500 }))
      const { message, response } = routed
      const fiber = forkIn(serve(fromNode(message), response, server))
      return Effect.as(
        Effect.tap(Fiber.await(fiber), () =>
          Effect.sync(() => {
            if (!response.writableEnded) response.destroy()
          }),
        ),
        HttpServerResponse.empty(),
      )
    }

    /** Nothing is kept of a session: its end needs no work. */
    const ended = HttpServerResponse.empty({ status: 405, headers: { allow: "GET, POST" } })
    for (const path of ["/mcp", "/mcp/:server"] as const) {
      for (const method of ["GET", "POST"] as const) {
        yield* router.add(method, path, (request) =>
          Effect.flatMap(HttpRouter.params, ({ server }) => answer(request, server)),
        )
      }
      yield* router.add("DELETE", path, Effect.succeed(ended))
    }
  }),
)
