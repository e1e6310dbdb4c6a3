/**
 * The hot routes, served directly from Node's socket: one fiber per request, without router and middleware. They use
 * the same handlers as the routes behind the router.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect, Exit, Option, type Scope } from "effect"
import type { HttpServerResponse } from "effect/http"
import { makeForkIn } from "../collections.ts"
import { joinChunks } from "../media/free-chunk.ts"
import { bodyTooLarge, serviceError } from "../protocol/error.ts"
import type { BodyError, RuntimeRequest, UploadRequest } from "./caller-request.ts"
import type { Room } from "./large/room.ts"
import type { NodeServer } from "./listener.ts"
import { sendResponse } from "./node-connection.ts"
import { interceptRequests } from "./request-interceptor.ts"

/** Answers a request by writing to its response. */
export type DirectHandler = (request: UploadRequest, response: ServerResponse) => Effect.Effect<void>

/** Serves `POST` requests to these paths before the router sees them, until the scope closes. */
export const answerDirectly = (
  server: NodeServer,
  handlerOf: (path: string, query: string) => DirectHandler | undefined,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const forkIn = yield* makeForkIn
    yield* interceptRequests(server, (next) => (request, response) => {
      const handler = request.method === "POST" ? handlerFor(handlerOf, request.url ?? "") : undefined
      if (handler === undefined) return next(request, response)
      const fiber = forkIn(handler(fromNode(request), response))
      // An interrupted reply must not look complete: close the connection.
      fiber.addObserver((exit) => {
        if (Exit.isFailure(exit)) response.destroy()
      })
    })
  })

/** A handler that makes a reply of the router's kind; it is interrupted when its client disconnects. */
export const replying =
  (handler: (request: UploadRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse>): DirectHandler =>
  (request, response) =>
    Effect.withFiber((fiber) => {
      response.once("close", () => {
        if (!response.writableEnded) fiber.interruptUnsafe()
      })
      return Effect.map(handler(request), (reply) => sendResponse(reply, response))
    })

const handlerFor = <A>(handlerOf: (path: string, query: string) => A, url: string): A => {
  const end = url.indexOf("?")
  return end === -1 ? handlerOf(url, "") : handlerOf(url.slice(0, end), url.slice(end + 1))
}

export const fromNode = (request: IncomingMessage): UploadRequest => ({
  source: request,
  headers: flat(request.headers),
  method: request.method ?? "POST",
  url: request.url ?? "",
  remoteAddress: Option.fromUndefinedOr(request.socket.remoteAddress),
  body: (maxBytes, room) => readAll(request, maxBytes, room),
  // The reply needs the connection, even if the body was not read to its end.
  chunks: () => request.iterator({ destroyOnReturn: false }),
})

/** Node joins repeated headers, except for cookies. */
const flat = (headers: IncomingMessage["headers"]): RuntimeRequest["headers"] => {
  const flattened: Record<string, string | undefined> = {}
  for (const name in headers) {
    const value = headers[name]
    flattened[name] = typeof value === "object" ? value.join(", ") : value
  }
  return flattened
}

const readAll = (
  request: IncomingMessage,
  maxBytes: number,
  room: Room | undefined,
): Effect.Effect<Uint8Array, BodyError> =>
  Effect.callback((resume) => {
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) return resume(Effect.fail(bodyTooLarge(maxBytes)))
    const chunks: Array<Buffer> = []
    let bytes = 0
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      const refused = bytes > maxBytes ? bodyTooLarge(maxBytes) : room?.grow(bytes)
      if (refused === undefined) return
      request.off("data", onData).pause()
      resume(Effect.fail(refused))
    }
    const onError = () => resume(Effect.fail(serviceError("bad_request", "The body could not be read")))
    request.on("data", onData)
    request.once("end", () => {
      // Listeners would keep the body in memory as long as the reply is streamed.
      request.off("data", onData).off("error", onError)
      resume(Effect.succeed(chunks.length === 1 ? (chunks[0] ?? empty) : joinChunks(chunks)))
    })
    request.once("error", onError)
  })

const empty = Buffer.alloc(0)
