/**
 * The hot routes, served directly from Node's socket: one fiber per request, without router and middleware. They use
 * the same handlers as the routes behind the router.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Effect, Exit, Fiber, Option, type Scope, Stream } from "effect"
import type { HttpServerResponse } from "effect/http"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { bodyTooLarge } from "./content-encoding.ts"
import { interceptRequests } from "./request-interceptor.ts"
import type { RuntimeRequest } from "./runtime.ts"

export type DirectHandler = (
  request: RuntimeRequest,
) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope>

/** Serves `POST` requests to these paths before the router sees them, until the scope closes. */
export const answerDirectly = (
  server: Server,
  handlers: ReadonlyMap<string, DirectHandler>,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    yield* interceptRequests(server, (next) => (request, response) => {
      const handler = request.method === "POST" ? handlers.get(pathOf(request.url ?? "")) : undefined
      if (handler === undefined) return next(request, response)
      const answered = Effect.flatMap(handler(fromNode(request)), (reply) => write(reply, response))
      const fiber = Fiber.runIn(fork(Effect.scoped(answered)), scope)
      response.on("close", () => {
        if (!response.writableEnded) fiber.interruptUnsafe()
      })
      // An interrupted reply must not look complete: close the connection.
      fiber.addObserver((exit) => {
        if (Exit.isFailure(exit)) response.destroy()
      })
    })
  })

const pathOf = (url: string): string => {
  const end = url.indexOf("?")
  return end === -1 ? url : url.slice(0, end)
}

const fromNode = (request: IncomingMessage): RuntimeRequest => ({
  headers: flat(request.headers),
  method: request.method ?? "POST",
  url: request.url ?? "",
  remoteAddress: Option.fromUndefinedOr(request.socket.remoteAddress),
  body: (maxBytes) => readAll(request, maxBytes),
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
): Effect.Effect<Uint8Array, ServiceError<"payload_too_large" | "bad_request">> =>
  Effect.callback((resume) => {
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) return resume(Effect.fail(bodyTooLarge(maxBytes)))
    const chunks: Array<Buffer> = []
    let bytes = 0
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes <= maxBytes) return
      request.off("data", onData).pause()
      resume(Effect.fail(bodyTooLarge(maxBytes)))
    }
    request.on("data", onData)
    request.once("end", () =>
      resume(Effect.succeed(chunks.length === 1 ? (chunks[0] ?? empty) : Buffer.concat(chunks))),
    )
    request.once("error", () => resume(Effect.fail(serviceError("bad_request", "The body could not be read"))))
  })

const empty = Buffer.alloc(0)

/** Bytes of a refused request's body that are still drained, so that the connection can be reused. */
const maxReadOnBytes = 256 * 1024

const write = (
  { status, headers, body }: HttpServerResponse.HttpServerResponse,
  response: ServerResponse,
): Effect.Effect<void> => {
  if (body._tag === "Stream") {
    return Effect.suspend(() => {
      response.writeHead(status, { ...headers, "content-type": body.contentType })
      return Effect.andThen(
        Stream.runForEachArray(Stream.orDie(body.stream), (chunks) => send(chunks, response)),
        finish(response),
      )
    })
  }
  return Effect.sync(() => {
    // Node drains the unread body of a refused request to reuse the connection; limit how much.
    if (!response.req.complete && !(Number(response.req.headers["content-length"]) < maxReadOnBytes)) {
      response.shouldKeepAlive = false
    }
    if (body._tag !== "Uint8Array") return void response.writeHead(status, headers).end()
    response.writeHead(status, { ...headers, "content-type": body.contentType, "content-length": body.body.length })
    response.end(body.body)
  })
}

/** Writes chunks as one buffer and waits while the socket is full. */
const send = (chunks: ReadonlyArray<Uint8Array>, response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const [first] = chunks
    const piece = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
    if (response.write(piece)) return resume(Effect.void)
    const onDrain = () => resume(Effect.void)
    response.once("drain", onDrain)
    return Effect.sync(() => response.off("drain", onDrain))
  })

/** Ends the reply and waits until its last byte has left the process. */
const finish = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    response.end(() => resume(Effect.void))
  })
