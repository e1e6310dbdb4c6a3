/**
 * The routes that every token waits for, straight from Node's socket: one fiber a request, no router and no middleware in
 * between. They answer as the same handlers do behind the router; everything else goes there.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Effect, Exit, Fiber, Option, type Scope, Stream } from "effect"
import type { HttpServerResponse } from "effect/http"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { standAhead } from "./ahead.ts"
import { bodyTooLarge } from "./request.ts"
import type { RuntimeRequest } from "./runtime.ts"

export type DirectHandler = (
  request: RuntimeRequest,
) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope>

/** Answers `POST`s to these paths ahead of whatever listens to the server already, until the scope closes. */
export const answerDirectly = (
  server: Server,
  handlers: ReadonlyMap<string, DirectHandler>,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    yield* standAhead(server, (behind) => (request, response) => {
      const handler = request.method === "POST" ? handlers.get(pathOf(request.url ?? "")) : undefined
      if (handler === undefined) return behind(request, response)
      const answered = Effect.flatMap(handler(fromNode(request)), (reply) => write(reply, response))
      const fiber = Fiber.runIn(fork(Effect.scoped(answered)), scope)
      response.on("close", () => {
        if (!response.writableEnded) fiber.interruptUnsafe()
      })
      // What was broken off in the middle must not look like a whole reply.
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

/** Node joins what comes twice, but for cookies. */
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

/** What is read on of a request that was refused. */
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
    // Node reads on what was not read of a refused request, so that the connection serves the next one; but not a lot.
    if (!response.req.complete && !(Number(response.req.headers["content-length"]) < maxReadOnBytes)) {
      response.shouldKeepAlive = false
    }
    if (body._tag !== "Uint8Array") return void response.writeHead(status, headers).end()
    response.writeHead(status, { ...headers, "content-type": body.contentType, "content-length": body.body.length })
    response.end(body.body)
  })
}

/** Writes what there is as one piece, and waits while the socket is full. */
const send = (chunks: ReadonlyArray<Uint8Array>, response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const [first] = chunks
    const piece = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
    if (response.write(piece)) return resume(Effect.void)
    const onDrain = () => resume(Effect.void)
    response.once("drain", onDrain)
    return Effect.sync(() => response.off("drain", onDrain))
  })

/** The reply is over when its last byte is out of our hands. */
const finish = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    response.end(() => resume(Effect.void))
  })
